// Package ledgertest makes commands for tests of the ledger, and of what leaders enter into it.
package ledgertest

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/rm/ledger/ledgerpb"
)

// Messages calls f with a message and all the ledger's that are in it.
func Messages(m protoreflect.Message, f func(protoreflect.Message)) {
	f(m)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap() || fd.Message().FullName().Parent() != "heddle.ledger":
		case fd.IsList():
			for i := range v.List().Len() {
				Messages(v.List().Get(i).Message(), f)
			}
		default:
			Messages(v.Message(), f)
		}
		return true
	})
}

// fill sets every field of a message, its strings to text. Yarn's own messages are left alone: they have no rules for strings.
func fill(m protoreflect.Message, text string) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.Message() != nil && f.Message().FullName().Parent() != "heddle.ledger" && !f.IsMap():
			m.Mutable(f)
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("k"+text).MapKey(), protoreflect.ValueOfString(text))
		case f.IsList() && f.Message() != nil:
			list := m.Mutable(f).List()
			fill(list.AppendMutable().Message(), text)
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			m.Mutable(f).List().Append(protoreflect.ValueOfString(text))
		case f.IsList():
			m.Mutable(f).List().Append(number(f))
		case f.Message() != nil:
			fill(m.Mutable(f).Message(), text)
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(text))
		default:
			m.Set(f, number(f))
		}
	}
}

// number returns the value of a kind that takes most bytes.
func number(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0xff})
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(-1)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(-1)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(-1)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1<<64 - 1)
	default:
		panic(f.Kind())
	}
}

// EveryCommand returns a command of each kind, with all of its strings set to text.
func EveryCommand(text string) []*ledgerpb.Command {
	var all []*ledgerpb.Command
	kinds := (&ledgerpb.Command{}).ProtoReflect().Descriptor().Fields()
	for i := range kinds.Len() {
		c := &ledgerpb.Command{}
		fill(c.ProtoReflect().Mutable(kinds.Get(i)).Message(), text)
		all = append(all, c)
	}
	return all
}
