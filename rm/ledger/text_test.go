package ledger

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/rm/ledger/ledgerpb"
)

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

// number is the value of a kind that takes most bytes.
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
	default:
		panic(f.Kind())
	}
}

// everyCommand is a command of each kind, with all of its strings set to text.
func everyCommand(text string) []*ledgerpb.Command {
	var all []*ledgerpb.Command
	kinds := (&ledgerpb.Command{}).ProtoReflect().Descriptor().Fields()
	for i := range kinds.Len() {
		c := &ledgerpb.Command{}
		fill(c.ProtoReflect().Mutable(kinds.Get(i)).Message(), text)
		all = append(all, c)
	}
	return all
}

func TestCommandsWithBytesThatAreNoUTF8CanBeEncoded(t *testing.T) {
	for _, c := range everyCommand("caf\xe9 \xff") {
		Clean(c)
		if _, err := proto.Marshal(c); err != nil {
			t.Errorf("%T: %v", c, err)
		}
	}
}

func TestCommandsWithLongStringsStaySmall(t *testing.T) {
	for _, c := range everyCommand(strings.Repeat("ü", MaxText)) {
		if c.QueuesConfigured != nil {
			continue // an administrator's, as large as they like
		}
		Clean(c)
		if n := proto.Size(c); n > 3*MaxText {
			t.Errorf("%d bytes of %.100v", n, c)
		}
	}
}

func TestSizeBoundHolds(t *testing.T) {
	for _, text := range []string{"", "host", strings.Repeat("x", 300)} {
		for _, c := range everyCommand(text) {
			if n := proto.Size(&ledgerpb.Batch{Commands: []*ledgerpb.Command{c}}); n > SizeBound(c) {
				t.Errorf("bound %d, size %d of %v", SizeBound(c), n, c)
			}
		}
	}
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for limit := 10; limit < 20; limit++ {
		head, tail := Head(strings.Repeat("日本", 10), limit), Tail(strings.Repeat("日本", 10), limit)
		for _, s := range []string{head, tail} {
			if len(s) > limit || len(s) < limit-4 || !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
				t.Errorf("cut to %d: %q", limit, s)
			}
		}
	}
	if got := Tail("caf\xe9", 100); got != "caf\uFFFD" {
		t.Errorf("%q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("caf\xe9 日本", 7)
	f.Add(strings.Repeat("\xff", 50), 20)
	f.Add("\xe6\x97", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 8 + limit&0xff
		head, tail := Head(s, limit), Tail(s, limit)
		if len(head) > limit || len(tail) > limit || !utf8.ValidString(head) || !utf8.ValidString(tail) {
			t.Errorf("cut to %d: %q, %q", limit, head, tail)
		}
		if utf8.ValidString(s) && len(s) <= limit && (head != s || tail != s) {
			t.Errorf("changed without need: %q, %q", head, tail)
		}
	})
}
