// Package shape checks the bytes of the ledger's messages before they are decoded: no member may skip what it doesn't know. Asking decoded messages for
// unknown fields takes many times as long, and a follower checks every batch.
package shape

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/yarn/records"
)

type known map[protoreflect.FullName]*Shape

// Of returns the shape of a kind of message.
func Of(m proto.Message) *Shape { return of(m.ProtoReflect().Descriptor(), known{}) }

// Shape describes which fields a message of the ledger may have.
type Shape struct {
	name   protoreflect.FullName
	single bool     // it has exactly one field
	fields []*field // by number
	// amounts is how many of them are amounts of resource types, maxAmounts at most.
	amounts int
}

// maxAmounts is how many fields of one message may be amounts of resource types.
const maxAmounts = 3

type field struct {
	kind    protowire.Type
	packed  bool   // numbers may be packed
	amounts int    // not 0: they are amounts of resource types, whose number is limited; counts such fields of the message
	message *Shape // nil for messages that aren't the ledger's: YARN's own keep unknown fields
}

func of(d protoreflect.MessageDescriptor, known known) *Shape {
	if s := known[d.FullName()]; s != nil {
		return s
	}
	s := &Shape{name: d.FullName()}
	s.single = s.name == "heddle.ledger.Command" || s.name == "heddle.ledger.SnapshotRecord"
	known[s.name] = s
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		f := &field{kind: protowire.VarintType}
		switch fd.Kind() {
		case protoreflect.StringKind, protoreflect.BytesKind:
			f.kind = protowire.BytesType
		case protoreflect.MessageKind:
			f.kind = protowire.BytesType
			if fd.Message().ParentFile().Package() == d.ParentFile().Package() {
				f.message = of(fd.Message(), known)
			}
		default:
			f.packed = fd.IsList()
			if fd.IsList() && fd.Kind() == protoreflect.Int64Kind {
				s.amounts++
				f.amounts = s.amounts
			}
		}
		s.fields = append(s.fields, make([]*field, max(0, int(fd.Number())+1-len(s.fields)))...)
		s.fields[fd.Number()] = f
	}
	return s
}

// ErrTorn is wrapped by errors of bytes that are no message.
var ErrTorn = errors.New("it is damaged, or was written by a newer version of Heddle")

// Unknown says what a message has that its shape lacks.
type Unknown struct{ What string }

func (u *Unknown) Error() string { return "unknown " + u.What }

// Check returns why the bytes of a message haven't this shape, nil if they have. The error is an *Unknown, or wraps ErrTorn.
func (s *Shape) Check(data []byte) error {
	fields := 0
	var types [maxAmounts + 1]int // by field.amounts
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return fmt.Errorf("%s: %w", s.name, ErrTorn)
		}
		data = data[n:]
		var f *field
		if int(number) < len(s.fields) {
			f = s.fields[number]
		}
		if f == nil || kind != f.kind && !(f.packed && kind == protowire.BytesType) {
			return &Unknown{What: fmt.Sprintf("field %d of %s", number, s.name)}
		}
		var inner []byte
		if kind == protowire.VarintType {
			_, n = protowire.ConsumeVarint(data)
		} else {
			inner, n = protowire.ConsumeBytes(data)
		}
		if n < 0 {
			return fmt.Errorf("%s: %w", s.name, ErrTorn)
		}
		fields++
		switch {
		case f.message != nil:
			if err := f.message.Check(inner); err != nil {
				return err
			}
		case f.amounts > 0 && kind == protowire.BytesType:
			types[f.amounts] += varints(inner)
		case f.amounts > 0:
			types[f.amounts]++
		}
		data = data[n:]
	}
	switch most := slices.Max(types[:]); {
	case most > records.MaxResourceTypes:
		return &Unknown{What: fmt.Sprintf("%d resource types", most)}
	case s.single && fields != 1:
		return &Unknown{What: fmt.Sprintf("a %s of %d kinds", s.name.Name(), fields)}
	}
	return nil
}

// varints counts packed numbers.
func varints(data []byte) (n int) {
	for _, b := range data {
		if b < 0x80 {
			n++
		}
	}
	return n
}
