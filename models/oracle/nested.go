package oracle

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// nestedFolder is the column of nested with the folder's name. Those of inbox follow the folder's id.
const nestedFolder = 11

// Nested implements models.Nester. Where the engine cannot read several tables in one call, the folders
// are a call of their own.
func (m *mailbox) Nested(ctx context.Context, a *models.Account,
	yield func(folder string, e *models.Entry) error,
) error {
	apart := m.nested.Emulates() != nil
	names, shown := map[uint32]string{}, map[uint32]bool{}
	var err error
	if apart {
		err = m.readFolders(ctx, a, func(number uint32, name string) error {
			names[number] = name
			return nil
		})
	}
	if err == nil {
		in, name := new(folder), ""
		m.folder, m.yield = in, func(e *models.Entry) error { return yield(name, e) }
		err = m.S.Read(ctx, m.nested, m.With(drivers.Text(a.Ref.(*user).id)), func(row []drivers.Value) error {
			number, err := folderNumber(row[0].Str())
			if err != nil {
				return err
			}
			if names[number] == "" && !apart {
				names[number] = row[nestedFolder].Str()
			}
			if row[1].IsNull() {
				return nil
			}
			shown[number] = true
			in.number, name = number, names[number]
			return m.inboxRow(row[1:])
		})
	}
	for number, name := range names {
		if err == nil && !shown[number] {
			err = yield(name, nil)
		}
	}
	return m.Failed("nested read", a, err)
}
