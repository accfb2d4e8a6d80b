package ledger

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// Encode returns the bytes of a batch as they are in the log.
func Encode(b *ledgerpb.Batch) ([]byte, error) {
	return proto.MarshalOptions{AllowPartial: true}.Marshal(b)
}

// Decode decodes a batch of the log. The error is a *NewerError if the batch has anything that this version doesn't know: a member that
// skipped it would have another ledger than the others from then on.
func Decode(data []byte) (*ledgerpb.Batch, error) {
	if v := batchVersion(data); v > Version {
		return nil, &NewerError{Version: v, Release: releaseIn(data)}
	}
	b := &ledgerpb.Batch{}
	if err := decode(data, b, batchShape); err != nil {
		return nil, err
	}
	return b, nil
}

func decode(data []byte, m proto.Message, known *shape) error {
	if err := known.check(data); err != nil {
		return err
	}
	return proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(data, m)
}

// releaseIn finds the release of Heddle in a batch that raises the version; "" if this is another batch.
func releaseIn(data []byte) string {
	b := &ledgerpb.Batch{}
	if err := (proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}).Unmarshal(data, b); err != nil {
		return ""
	}
	for _, c := range b.GetCommands() {
		if r := c.GetLedgerVersionRaised().GetRelease(); r != "" {
			return r
		}
	}
	return ""
}

// batchVersion finds the version of a batch without decoding the rest, whose form may be unknown to this release.
func batchVersion(data []byte) (version int32) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return version
		}
		data = data[n:]
		if number == versionField && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(data)
			version = int32(min(v, 1<<30))
		}
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return version
		}
		data = data[n:]
	}
	return version
}

var (
	batchShape   = shapeOf((&ledgerpb.Batch{}).ProtoReflect().Descriptor(), map[protoreflect.FullName]*shape{})
	recordShape  = shapeOf((&ledgerpb.SnapshotRecord{}).ProtoReflect().Descriptor(), map[protoreflect.FullName]*shape{})
	versionField = (&ledgerpb.Batch{}).ProtoReflect().Descriptor().Fields().ByName("version").Number()
)

// shape describes which fields a message of the ledger may have. Messages are checked by their bytes before they are decoded. Asking
// decoded messages for unknown fields takes many times as long, and a follower checks every batch.
type shape struct {
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
	message *shape // nil for messages that aren't the ledger's: YARN's own keep unknown fields
}

func shapeOf(d protoreflect.MessageDescriptor, known map[protoreflect.FullName]*shape) *shape {
	if s := known[d.FullName()]; s != nil {
		return s
	}
	s := &shape{name: d.FullName()}
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
				f.message = shapeOf(fd.Message(), known)
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

var errTorn = errors.New("it is damaged, or was written by a newer version of Heddle")

func (s *shape) check(data []byte) error {
	fields := 0
	var types [maxAmounts + 1]int // by field.amounts
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return fmt.Errorf("%s: %w", s.name, errTorn)
		}
		data = data[n:]
		var f *field
		if int(number) < len(s.fields) {
			f = s.fields[number]
		}
		if f == nil || kind != f.kind && !(f.packed && kind == protowire.BytesType) {
			return &NewerError{What: fmt.Sprintf("field %d of %s", number, s.name)}
		}
		var inner []byte
		if kind == protowire.VarintType {
			_, n = protowire.ConsumeVarint(data)
		} else {
			inner, n = protowire.ConsumeBytes(data)
		}
		if n < 0 {
			return fmt.Errorf("%s: %w", s.name, errTorn)
		}
		fields++
		switch {
		case f.message != nil:
			if err := f.message.check(inner); err != nil {
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
		return &NewerError{What: fmt.Sprintf("%d resource types", most)}
	case s.single && fields != 1:
		return &NewerError{What: fmt.Sprintf("a %s of %d kinds", s.name.Name(), fields)}
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
