package models_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

func TestLayoutComesBack(t *testing.T) {
	m := &mail.Message{
		Body: mail.Part{
			Type: "text/plain", Encoding: mail.QuotedPrintable, Offset: 300, Length: 1 << 40,
			Content: mail.BytesContent("body"),
		},
		Attachments: []mail.Part{
			{
				Name: "a\n\x00ü", Type: "image/png", Encoding: mail.Base64, Offset: 1, Length: 2,
				Content: mail.BytesContent("xyz"),
			},
			{Name: "b", Content: mail.BytesContent(nil)},
		},
	}
	b := models.AppendLayout(nil, m, 0xfffffff1)
	var got models.Layout
	for range 2 { // the second time over used buffers
		if err := got.Parse(b); err != nil {
			t.Fatal(err)
		}
	}
	want := models.Layout{
		Checksum: 0xfffffff1,
		Body: models.LayoutPart{
			Name: []byte{}, Type: []byte("text/plain"), Encoding: mail.QuotedPrintable, Offset: 300,
			Length: 1 << 40, Size: 4,
		},
		Attachments: []models.LayoutPart{
			{Name: []byte("a\n\x00ü"), Type: []byte("image/png"), Encoding: mail.Base64, Offset: 1, Length: 2, Size: 3},
			{Name: []byte("b"), Type: []byte{}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Attachment("b") == nil || got.Attachment("c") != nil {
		t.Error("Attachment finds by name")
	}
	whole := map[int]bool{len(b): true}
	for cut := range b { // what ends between two parts is whole
		if got.Parse(b[:cut]) == nil {
			whole[cut] = true
		}
	}
	if len(whole) != 3 {
		t.Errorf("%d prefixes are read as whole layouts, want those that end with a part: 3", len(whole))
	}
}

func FuzzLayout(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("1234\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var l models.Layout
		if l.Parse(b) == nil && (l.Body.Offset < 0 || l.Body.Length < 0 || l.Body.Size < 0) {
			t.Errorf("%x: negative numbers in %+v", b, l.Body)
		}
	})
}
