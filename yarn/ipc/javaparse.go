package ipc

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// parseError says why a request doesn't parse, in the words of protobuf-java (InvalidProtocolBufferException).
type parseError string

func (e parseError) Error() string { return string(e) }

const (
	errTruncated parseError = "While parsing a protocol message, the input ended unexpectedly in the middle of a field.  " +
		"This could mean either that the input has been truncated or that an embedded message misreported its own length."
	errNegativeSize parseError = "CodedInputStream encountered an embedded string or message which claimed to have " +
		"negative size."
	errMalformedVarint parseError = "CodedInputStream encountered a malformed varint."
	errInvalidTag      parseError = "Protocol message contained an invalid tag (zero)."
	errInvalidEndTag   parseError = "Protocol message end-group tag did not match expected tag."
	errInvalidWireType parseError = "Protocol message tag had invalid wire type."
	errTooDeep         parseError = "Protocol message had too many levels of nesting.  May be malicious.  Use " +
		"CodedInputStream.setRecursionLimit() to increase the recursion depth limit."
)

// maxNesting is protobuf-java's limit of messages within messages.
const maxNesting = 100

// unmarshal parses b into m. It fails if a required field of proto2 is missing.
func unmarshal(b []byte, m proto.Message) error {
	if err := unmarshalPartial(b, m); err != nil {
		return err
	}
	return checkRequired(m)
}

// unmarshalPartial parses b into m. Required fields may be missing.
func unmarshalPartial(b []byte, m proto.Message) error {
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(b, m); err != nil {
		return diagnose(b, m)
	}
	return nil
}

// checkRequired returns an error that lists all required fields that m lacks.
func checkRequired(m proto.Message) error {
	if proto.CheckInitialized(m) == nil {
		return nil
	}
	return parseError("Message missing required fields: " + strings.Join(missingFields(nil, "", m.ProtoReflect()), ", "))
}

// missingFields appends the paths of missing required fields in protobuf-java's order: those of a message itself, then
// those of the messages in its fields.
func missingFields(out []string, prefix string, m protoreflect.Message) []string {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Cardinality() == protoreflect.Required && !m.Has(f) {
			out = append(out, prefix+string(f.Name()))
		}
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() == nil || f.IsMap() || !m.Has(f) {
			continue
		}
		path := prefix + string(f.Name())
		if !f.IsList() {
			out = missingFields(out, path+".", m.Get(f).Message())
			continue
		}
		list := m.Get(f).List()
		for j := range list.Len() {
			out = missingFields(out, fmt.Sprintf("%s[%d].", path, j), list.Get(j).Message())
		}
	}
	return out
}

// diagnose finds out why b doesn't parse as m's type. m may be a nil pointer of that type.
func diagnose(b []byte, m proto.Message) error {
	if err := diagnoseMessage(b, m.ProtoReflect().Descriptor(), 0); err != nil {
		return err
	}
	return errTruncated
}

func diagnoseMessage(b []byte, d protoreflect.MessageDescriptor, depth int) error {
	if depth > maxNesting {
		return errTooDeep
	}
	for len(b) > 0 {
		tag, n, err := varint(b)
		if err != nil {
			return err
		}
		b = b[n:]
		num, typ := protowire.Number(uint32(tag)>>3), protowire.Type(tag&7)
		if num == 0 {
			return errInvalidTag
		}
		switch typ {
		case protowire.VarintType:
			_, n, err = varint(b)
			if err != nil {
				return err
			}
		case protowire.Fixed32Type:
			n = 4
		case protowire.Fixed64Type:
			n = 8
		case protowire.BytesType:
			v, used, err := varint(b)
			if err != nil {
				return err
			}
			size := int(int32(uint32(v)))
			if size < 0 {
				return errNegativeSize
			}
			if n = used + size; n > len(b) {
				return errTruncated
			}
			if f := fieldByNumber(d, num); f != nil && f.Message() != nil {
				if err := diagnoseMessage(b[used:n], f.Message(), depth+1); err != nil {
					return err
				}
			}
		case protowire.StartGroupType:
			n = protowire.ConsumeFieldValue(num, typ, b)
			if n < 0 {
				return errInvalidEndTag
			}
		case protowire.EndGroupType:
			return errInvalidEndTag
		default:
			return errInvalidWireType
		}
		if n > len(b) {
			return errTruncated
		}
		b = b[n:]
	}
	return nil
}

func fieldByNumber(d protoreflect.MessageDescriptor, n protowire.Number) protoreflect.FieldDescriptor {
	if d == nil {
		return nil
	}
	return d.Fields().ByNumber(n)
}

func varint(b []byte) (v uint64, n int, err error) {
	for i, c := range b {
		if i == 10 {
			return 0, 0, errMalformedVarint
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1, nil
		}
	}
	return 0, 0, errTruncated
}
