package javaio

import (
	"encoding/binary"
	"math"
)

// Class descriptors, as a stream has them before the first object of a class.
type (
	// ClassDesc describes a class for an Encoder. ID is its serialVersionUID.
	ClassDesc struct {
		Name   string
		ID     uint64
		Fields []FieldDesc // numbers and booleans first, then objects, each by name
		Super  *ClassDesc
		// Custom is set for a class with a method writeObject, Enum for an enumeration.
		Custom, Enum bool
	}

	// FieldDesc describes a field. Kind is a type code: B C D F I J S Z, L or [; the last two have a Type, such as
	// Ljava/lang/String;
	FieldDesc struct {
		Kind byte
		Name string
		Type string
	}
)

// Types of fields.
const (
	StringType = "Ljava/lang/String;"
	ListType   = "Ljava/util/List;"
	MapType    = "Ljava/util/Map;"
)

var (
	enumClass = &ClassDesc{Name: "java.lang.Enum", Enum: true}
	listClass = &ClassDesc{
		Name: "java.util.ArrayList", ID: 0x7881d21d99c7619d, Fields: []FieldDesc{{'I', "size", ""}},
		Custom: true,
	}
	mapClass = &ClassDesc{
		Name: "java.util.HashMap", ID: 0x0507dac1c31660d1,
		Fields: []FieldDesc{{'F', "loadFactor", ""}, {'I', "threshold", ""}}, Custom: true,
	}
)

// EnumDesc describes an enumeration.
func EnumDesc(name string) *ClassDesc { return &ClassDesc{Name: name, Super: enumClass, Enum: true} }

// Encoder writes a stream of serialized objects (ObjectOutputStream) piece by piece. After Object, write the values of
// its fields in the order of the descriptor. Equal strings are written once.
type Encoder struct {
	b       []byte
	next    uint32
	classes map[*ClassDesc]uint32
	strings map[string]uint32
	err     error
}

// NewEncoder begins a stream.
func NewEncoder() *Encoder {
	return &Encoder{
		b: []byte{0xac, 0xed, 0, 5}, next: firstHandle, classes: make(map[*ClassDesc]uint32),
		strings: make(map[string]uint32),
	}
}

// Bytes returns the stream, or the first error.
func (e *Encoder) Bytes() ([]byte, error) { return e.b, e.err }

func (e *Encoder) handle() uint32 {
	e.next++
	return e.next - 1
}

func (e *Encoder) reference(handle uint32) {
	e.b = binary.BigEndian.AppendUint32(append(e.b, tcReference), handle)
}

// utf writes a string of at most 64 KiB without its type.
func (e *Encoder) utf(s string) {
	b, err := AppendUTF(e.b, s)
	if err != nil {
		if e.err == nil {
			e.err = err
		}
		return
	}
	e.b = b
}

// class writes a descriptor, or a reference to it; nil stands for none.
func (e *Encoder) class(c *ClassDesc) {
	if c == nil {
		e.b = append(e.b, tcNull)
		return
	}
	if h, ok := e.classes[c]; ok {
		e.reference(h)
		return
	}
	e.b = append(e.b, tcClassDesc)
	e.utf(c.Name)
	e.b = binary.BigEndian.AppendUint64(e.b, c.ID)
	e.classes[c] = e.handle()
	flags := byte(flagSerializable)
	if c.Custom {
		flags |= flagWriteMethod
	}
	if c.Enum {
		flags |= flagEnum
	}
	e.b = binary.BigEndian.AppendUint16(append(e.b, flags), uint16(len(c.Fields)))
	for _, f := range c.Fields {
		e.b = append(e.b, f.Kind)
		e.utf(f.Name)
		if f.Kind == 'L' || f.Kind == '[' {
			e.String(f.Type)
		}
	}
	e.b = append(e.b, tcEndBlockData)
	e.class(c.Super)
}

// Object begins an object.
func (e *Encoder) Object(c *ClassDesc) {
	e.b = append(e.b, tcObject)
	e.class(c)
	e.handle()
}

// Enum writes a constant of an enumeration.
func (e *Encoder) Enum(c *ClassDesc, name string) {
	e.b = append(e.b, tcEnum)
	e.class(c)
	e.handle()
	e.String(name)
}

// String writes a string.
func (e *Encoder) String(s string) {
	if h, ok := e.strings[s]; ok {
		e.reference(h)
		return
	}
	e.b = append(e.b, tcString)
	e.strings[s] = e.handle()
	e.utf(s)
}

// Int writes a field of type int.
func (e *Encoder) Int(n int32) { e.b = binary.BigEndian.AppendUint32(e.b, uint32(n)) }

// Long writes a field of type long.
func (e *Encoder) Long(n int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(n)) }

// List begins a java.util.ArrayList. Write its n elements next, and then End.
func (e *Encoder) List(n int) {
	e.Object(listClass)
	e.Int(int32(n))
	e.b = append(e.b, tcBlockData, 4)
	e.Int(int32(n))
}

// Map begins a java.util.HashMap. Write its n keys next, each before its value, and then End.
func (e *Encoder) Map(n int) {
	const loadFactor = 0.75
	buckets := int32(16)
	for float64(buckets)*loadFactor < float64(n) {
		buckets *= 2
	}
	e.Object(mapClass)
	e.Int(int32(math.Float32bits(loadFactor)))
	e.Int(int32(float64(buckets) * loadFactor))
	e.b = append(e.b, tcBlockData, 8)
	e.Int(buckets)
	e.Int(int32(n))
}

// End ends a List or a Map.
func (e *Encoder) End() { e.b = append(e.b, tcEndBlockData) }
