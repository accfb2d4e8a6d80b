package ipc

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Estimates of the bytes that a message, and a string or number in it, takes in memory beside its contents.
const (
	messageFootprint = 160
	fieldFootprint   = 24
	// maxFootprintDepth bounds how deep footprint looks into messages. The decoder itself goes no deeper than 10,000.
	maxFootprintDepth = 100
)

// footprint estimates how many bytes a message takes once it is decoded. Two bytes of a packet may be a message that
// takes many more. Bytes that don't parse are left to the decoder.
func footprint(b []byte, d protoreflect.MessageDescriptor) int { return footprintAt(b, d, 0) }

func footprintAt(b []byte, d protoreflect.MessageDescriptor, depth int) int {
	total := messageFootprint
	fields := d.Fields()
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return total
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(num, typ, b)
		if n < 0 {
			return total
		}
		value := b[:n]
		b = b[n:]
		f := fields.ByNumber(num)
		switch {
		case f == nil: // an unknown field, kept as bytes
			total += n
		case typ != protowire.BytesType:
			total += fieldFootprint
		case f.Message() == nil && f.Kind() != protoreflect.StringKind && f.Kind() != protoreflect.BytesKind:
			total += 8 * n // a packed list
		case f.Message() == nil || depth == maxFootprintDepth:
			total += fieldFootprint + n
		default:
			value, _ = protowire.ConsumeBytes(value)
			total += fieldFootprint + footprintAt(value, f.Message(), depth+1)
		}
	}
	return total
}
