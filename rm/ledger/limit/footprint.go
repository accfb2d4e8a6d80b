package limit

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Estimates of the bytes that a message, and a value in it, takes in memory beside its contents.
const (
	messageFootprint = 160
	valueFootprint   = 24
)

// Texts returns what texts take beside a number of bytes, in memory.
func Texts(beside int64, texts ...string) int64 {
	for _, text := range texts {
		beside += valueFootprint + int64(len(text))
	}
	return beside
}

// Footprint estimates how many bytes a message takes in memory. Two bytes on the wire may be a message that takes many more.
func Footprint(m proto.Message) int64 {
	if m == nil {
		return 0
	}
	return footprint(m.ProtoReflect())
}

func footprint(m protoreflect.Message) int64 {
	total := messageFootprint + int64(len(m.GetUnknown()))
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				total += messageFootprint + valueBytes(f.MapKey(), k.Value()) + valueBytes(f.MapValue(), v)
				return true
			})
		case f.IsList():
			list := v.List()
			for i := range list.Len() {
				total += valueBytes(f, list.Get(i))
			}
		default:
			total += valueBytes(f, v)
		}
		return true
	})
	return total
}

func valueBytes(f protoreflect.FieldDescriptor, v protoreflect.Value) int64 {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return valueFootprint + footprint(v.Message())
	case protoreflect.StringKind:
		return valueFootprint + int64(len(v.String()))
	case protoreflect.BytesKind:
		return valueFootprint + int64(len(v.Bytes()))
	}
	return valueFootprint
}
