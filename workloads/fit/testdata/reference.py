# Prints what Python's mailbox and email packages read: for each mbox of a folder a line for each
# message. python_test.go compares it with what mailbench reads.
import email, email.policy, email.utils, mailbox, os, sys


def line(m):
    leaves = [p for p in m.walk() if not p.is_multipart()]
    for p in leaves:  # the methods of a message do not know comments, its header fields do
        for name, word in ("Content-Type", "content_type"), ("Content-Disposition", "content_disposition"), ("Content-Transfer-Encoding", "cte"):
            if p[name]:
                p.replace_header(name, getattr(p[name], word))
    sizes = [str(len(p.get_payload(decode=True) or b"")) for p in leaves]
    attached = sum(p.get_content_disposition() == "attachment" for p in leaves)
    date = email.utils.parsedate_tz(m["Date"]) if m["Date"] else None
    people = email.utils.getaddresses([str(v) for n in ("To", "Cc") for v in m.get_all(n, [])])
    return "%s attached %d, date %s, to %d, first %s" % (
        " ".join(sizes), attached, email.utils.mktime_tz(date) if date else "none", len(people), leaves[0].get_content_type())


def read(f):
    return email.message_from_binary_file(f, policy=email.policy.default)


for name in sorted(os.listdir(sys.argv[1])):
    path = os.path.join(sys.argv[1], name)
    box = mailbox.mbox(path, factory=read, create=False)
    for i, m in enumerate(box):
        print(name, i, line(m))
