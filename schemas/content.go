package schemas

// Content are the quantities whose size the sender of a message chooses, in words.
var Content = map[string]string{
	"raw": "a whole message", "body": "a message's body", "attachment": "an attachment",
	"attachment-bytes": "all attachments of a message", "attachment-text": "all attachments of a message",
}

// Holds returns what part of a message a column holds, a quantity of [Content], or "".
// inPieces: each row has one piece of it. Table.Rows say both.
func (t *Table) Holds(c *Column) (quantity string, inPieces bool) {
	for _, r := range t.Rows {
		for _, size := range r.Sizes {
			if size.Column != c {
				continue
			}
			for _, term := range size.Bytes {
				switch {
				case Content[term.Quantity] != "":
					return term.Quantity, false
				case term.Quantity == pieceQuantity && Content[r.Of] != "":
					return r.Of, true
				}
			}
		}
	}
	return "", false
}
