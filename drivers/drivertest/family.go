package drivertest

import (
	"fmt"
	"testing"
)

// family tests a table and a table nested in it. An engine may keep their rows side by
// side. Reads and deletes of one table leave the other alone.
func family(t testing.TB, open Open) {
	c := begin(t, open, "family.yaml").client()
	fill := func(box string) {
		for m := 1; m <= 3; m++ {
			c.write("put_mail", box, m, fmt.Sprint("s", m), 10*m, m == 2)
			for n := -1; n <= 1; n++ {
				c.write("put_part", box, m, n, "a", []byte{byte(m)})
			}
			c.write("put_part", box, m, 1, "ab", []byte{})
		}
	}
	fill("a")
	fill("b")
	c.write("put_part", "a", 9, 0, "", []byte("x")) // mail 9 has no row
	parts := func(m int) []string {
		data := fmt.Sprintf("0x%02x", m)
		return []string{row(-1, "a", []byte{byte(m)}), "0 a " + data, "1 a " + data, row(1, "ab", []byte{})}
	}

	mails := []string{"3 s3 30 false", "2 s2 20 true", "1 s1 10 false"}
	c.expect(mails, "mails", "a")
	c.expect([]string{"1 s1", "2 s2"}, "mails_back", "a")
	c.expect([]string{"s2 20 true"}, "mail", "a", 2)
	c.expect(nil, "mail", "a", 9)
	c.same([]string{"3 s3", "1 s1"}, "mails_of", "a", list{3, 9, 1})
	c.same([]string{"3", "1"}, "unseen", "a", false)
	c.expectCount(6, "boxes")

	c.expect(parts(2), "parts", "a", 2)
	c.expect([]string{row(0, "", []byte("x"))}, "parts", "a", 9)
	c.expect([]string{"0x02"}, "part", "a", 2, 0, "a")
	c.expect(nil, "part", "a", 2, 0, "ab")
	c.expect([]string{"1 ab", "1 a"}, "parts_back", "a", 2)
	c.expect([]string{"a", "ab"}, "parts_n", "a", 2, 1)
	c.same([]string{"1 a", "1 ab", "-1 a"}, "parts_in", "a", 2, list{1, 7, -1})
	c.expect([]string{"-1 a", "0 a"}, "parts_from", "a", 2, -1, 1)
	c.expect([]string{"-1 a", "0 a"}, "parts_after", "a", 2, nil, nil)
	c.expect([]string{"1 a", "1 ab"}, "parts_after", "a", 2, 0, "a")
	c.expect(nil, "parts_after", "a", 2, 1, "ab")
	c.same([]string{row("a", []byte{2}), row("ab", []byte{})}, "named", "a", 2, 1, list{"a", "zz", "ab"})
	c.expectCount(13, "parts_of_box", "a")
	c.expect([]string{row(9, 0, ""), "3 -1 a"}, "parts_of_box_after", "a", nil, nil, nil)
	c.expect([]string{"3 1 ab", "2 -1 a"}, "parts_of_box_after", "a", 3, 1, "a")
	c.expectCount(25, "all_parts")

	// Writes of one leave the other alone.
	c.write("see", "a", 1, true)
	c.expect([]string{"s1 10 true"}, "mail", "a", 1)
	if c.offers("see_if") {
		for _, size := range []int{11, 10} {
			if r, err := c.try("see_if", "a", 1, false, size); err != nil || r.Applied != (size == 10) {
				t.Fatalf("see_if with a size of %d, of which 10 is right: %+v, %v", size, r, err)
			}
		}
		if r, err := c.try("put_new", "a", 9, "s9", 90, false); err != nil || !r.Applied {
			t.Fatalf("put_new of a mail that has only parts: %+v, %v; expected it to be applied", r, err)
		}
		c.write("drop_mail", "a", 9)
		if r, err := c.try("put_part_if", "a", 1, 0, "a", []byte("y")); err != nil || r.Applied {
			t.Fatalf("put_part_if of a part that exists: %+v, %v; expected it not to be applied", r, err)
		}
	}
	c.expect([]string{row(0, "", []byte("x"))}, "parts", "a", 9)
	c.expect(parts(1), "parts", "a", 1)

	c.write("drop_mail", "a", 1)
	c.expect(mails[:2], "mails", "a")
	c.expect(parts(1), "parts", "a", 1)
	c.write("drop_part", "a", 2, 0, "a")
	c.write("drop_parts_n", "a", 2, 1)
	c.expect(parts(2)[:1], "parts", "a", 2)
	c.write("drop_parts", "a", 3)
	c.expect(nil, "parts", "a", 3)
	c.expect(mails[:2], "mails", "a")
	c.write("drop_mails", "a")
	c.expect(nil, "mails", "a")
	c.expectCount(6, "parts_of_box", "a")
	c.write("drop_parts_of_box", "a")
	c.expect(nil, "parts_of_box", "a")
	c.write("drop_parts_of_box", "b")
	c.expect(nil, "all_parts")
	c.expectCount(3, "boxes")
	familyBatches(c)
}

// familyBatches tests batches that delete from both tables, or from one.
func familyBatches(c *client) {
	put := func(box string, m int) {
		c.write("put_mail", box, m, "s", m, true)
		c.write("put_part", box, m, 0, "a", []byte{1})
		c.write("put_part", box, m, 1, "a", []byte{2})
	}
	if c.offers("add") && c.offers("remove") {
		must(c, c.batch("add", with(0, "row", 1, 0, "a", []byte{7}), with(1, "row", 1, "s", 1, false)))
		c.expect([]string{"1 s 1 false"}, "mails", "row")
		c.expect([]string{"0 a 0x07"}, "parts", "row", 1)
		for m := 2; m <= 4; m++ {
			put("row", m)
		}
		must(c, c.batch("remove", with(0, "row", 1), with(1, "row", 1)))
		must(c, c.batch("remove", with(1, "row", 2), with(0, "row", 2)))
		must(c, c.batch("remove", with(0, "row", 3)))
		must(c, c.batch("remove", with(1, "row", 4)))
		c.expect([]string{"4 s 4 true"}, "mails", "row")
		c.expect([]string{"3 0 a", "3 1 a"}, "parts_of_box", "row")
	}
	for m := 1; m <= 6; m++ {
		put("each", m)
	}
	must(c, c.batch("change",
		with(0, "each", 7, "new", 7, true), with(1, "each", 7, 0, "n", []byte{7}),
		with(2, "each", 1), with(3, "each", 1), // a mail, then its parts
		with(3, "each", 2), with(2, "each", 2), // the parts, then their mail
		with(2, "each", 3), with(3, "each", 4), // mail 3 without its parts, parts of mail 4
		with(2, "each", 5), with(3, "each", 5), with(1, "each", 5, 9, "z", []byte{9}), // a part after the deletes
		with(1, "each", 6, 9, "z", []byte{9}), with(3, "each", 6))) // a part before the delete
	c.expect([]string{"7 new 7 true", "6 s 6 true", "4 s 4 true"}, "mails", "each")
	c.expect([]string{"7 0 n", "5 9 z", "3 0 a", "3 1 a"}, "parts_of_box", "each")
}
