package javaio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Object is an instance of a serializable class.
type Object struct {
	Class  string
	Fields map[string]any // fields, including those of superclasses
	Data   []any          // data that writeObject methods added: objects, and []byte for anything else
}

// Enum is a constant of an enumeration.
type Enum struct{ Class, Name string }

// Values of other kinds: nil, bool, int64 for all whole numbers and characters, float64, string, []any for arrays, and
// Class for classes.

// Class is a class, by name.
type Class string

// Type codes of the Java Object Serialization Specification, section 6.4.2.
const (
	tcNull           = 0x70
	tcReference      = 0x71
	tcClassDesc      = 0x72
	tcObject         = 0x73
	tcString         = 0x74
	tcArray          = 0x75
	tcClass          = 0x76
	tcBlockData      = 0x77
	tcEndBlockData   = 0x78
	tcReset          = 0x79
	tcBlockDataLong  = 0x7a
	tcLongString     = 0x7c
	tcProxyClassDesc = 0x7d
	tcEnum           = 0x7e

	firstHandle = 0x7e0000

	flagWriteMethod    = 0x01
	flagSerializable   = 0x02
	flagExternalizable = 0x04
	flagBlockData      = 0x08
	flagEnum           = 0x10
)

// maxNesting bounds how deep objects nest.
const maxNesting = 200

// classDesc describes the fields of a class.
type classDesc struct {
	name   string
	flags  byte
	fields []field
	super  *classDesc
}

type field struct {
	name string
	kind byte // type code: B C D F I J S Z, L or [
}

// decoder reads a stream of serialized objects. It runs and looks up nothing in the stream, and returns plain values.
type decoder struct {
	b       []byte
	handles []any
	depth   int
}

var errShort = errors.New("unexpected end")

// Decode reads the first object of a stream (ObjectOutputStream). The memory it takes is proportional to the length of
// b.
func Decode(b []byte) (any, error) {
	if len(b) < 4 || binary.BigEndian.Uint32(b) != 0xaced0005 {
		return nil, errors.New("not serialized objects of Java")
	}
	d := &decoder{b: b[4:]}
	v, err := d.value()
	if err != nil {
		return nil, fmt.Errorf("serialized object, %d bytes before its end: %w", len(d.b), err)
	}
	return v, nil
}

func (d *decoder) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(d.b)) {
		return nil, errShort
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p, nil
}

func (d *decoder) byte() (byte, error) {
	p, err := d.take(1)
	if err != nil {
		return 0, err
	}
	return p[0], nil
}

// number reads a big-endian number of n bytes.
func (d *decoder) number(n int64) (uint64, error) {
	p, err := d.take(n)
	if err != nil {
		return 0, err
	}
	var v uint64
	for _, c := range p {
		v = v<<8 | uint64(c)
	}
	return v, nil
}

func (d *decoder) utf() (string, error) {
	n, err := d.number(2)
	if err != nil {
		return "", err
	}
	p, err := d.take(int64(n))
	if err != nil {
		return "", err
	}
	return decodeUTF(p)
}

func (d *decoder) handle(v any) int {
	d.handles = append(d.handles, v)
	return len(d.handles) - 1
}

// value reads an object of any kind, or block data, which is []byte.
func (d *decoder) value() (any, error) {
	if d.depth++; d.depth > maxNesting {
		return nil, fmt.Errorf("objects nest deeper than %d", maxNesting)
	}
	defer func() { d.depth-- }()
	code, err := d.byte()
	if err != nil {
		return nil, err
	}
	switch code {
	case tcNull:
		return nil, nil
	case tcReference:
		return d.reference()
	case tcString, tcLongString:
		return d.string(code)
	case tcObject:
		return d.object()
	case tcArray:
		return d.array()
	case tcEnum:
		return d.enum()
	case tcClass:
		c, err := d.classDesc()
		if err != nil || c == nil {
			return nil, errors.Join(err, errors.New("class without a description"))
		}
		d.handle(Class(c.name))
		return Class(c.name), nil
	case tcBlockData, tcBlockDataLong:
		return d.block(code)
	}
	return nil, fmt.Errorf("unsupported type code %#x", code)
}

func (d *decoder) reference() (any, error) {
	h, err := d.number(4)
	if err != nil {
		return nil, err
	}
	if i := int64(h) - firstHandle; i >= 0 && i < int64(len(d.handles)) {
		return d.handles[i], nil
	}
	return nil, fmt.Errorf("reference to an unknown object %#x", h)
}

func (d *decoder) string(code byte) (string, error) {
	size := int64(2)
	if code == tcLongString {
		size = 8
	}
	n, err := d.number(size)
	if err != nil {
		return "", err
	}
	p, err := d.take(int64(min(n, math.MaxInt64)))
	if err != nil {
		return "", err
	}
	s, err := decodeUTF(p)
	d.handle(s)
	return s, err
}

func (d *decoder) block(code byte) ([]byte, error) {
	size := int64(1)
	if code == tcBlockDataLong {
		size = 4
	}
	n, err := d.number(size)
	if err != nil {
		return nil, err
	}
	return d.take(int64(n))
}

// classDesc reads the description of a class; nil stands for none.
func (d *decoder) classDesc() (*classDesc, error) {
	if d.depth++; d.depth > maxNesting {
		return nil, fmt.Errorf("classes nest deeper than %d", maxNesting)
	}
	defer func() { d.depth-- }()
	code, err := d.byte()
	if err != nil {
		return nil, err
	}
	switch code {
	case tcNull:
		return nil, nil
	case tcReference:
		v, err := d.reference()
		if err != nil {
			return nil, err
		}
		c, ok := v.(*classDesc)
		if !ok {
			return nil, errors.New("reference to something else than a class")
		}
		return c, nil
	case tcClassDesc:
	default:
		return nil, fmt.Errorf("unsupported type code %#x of a class", code)
	}
	c := &classDesc{}
	if c.name, err = d.utf(); err != nil {
		return nil, err
	}
	if _, err := d.take(8); err != nil { // serialVersionUID
		return nil, err
	}
	d.handle(c)
	if c.flags, err = d.byte(); err != nil {
		return nil, err
	}
	n, err := d.number(2)
	if err != nil {
		return nil, err
	}
	for range n {
		var f field
		if f.kind, err = d.byte(); err != nil {
			return nil, err
		}
		if f.name, err = d.utf(); err != nil {
			return nil, err
		}
		if f.kind == 'L' || f.kind == '[' {
			if _, err := d.value(); err != nil { // the type's name
				return nil, err
			}
		}
		c.fields = append(c.fields, f)
	}
	if _, err := d.annotation(); err != nil {
		return nil, err
	}
	if c.super, err = d.classDesc(); err != nil {
		return nil, err
	}
	return c, nil
}

// annotation reads values until the end of a block.
func (d *decoder) annotation() ([]any, error) {
	var vs []any
	for {
		if len(d.b) > 0 && d.b[0] == tcEndBlockData {
			d.b = d.b[1:]
			return vs, nil
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
}

func (d *decoder) object() (*Object, error) {
	c, err := d.classDesc()
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New("object without a class")
	}
	o := &Object{Class: c.name, Fields: map[string]any{}}
	d.handle(o)
	var chain []*classDesc
	for ; c != nil; c = c.super {
		if len(chain) > maxNesting { // hostile input may make a class its own ancestor
			return nil, errors.New("endless chain of superclasses")
		}
		chain = append(chain, c)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if err := d.classData(o, chain[i]); err != nil {
			return nil, fmt.Errorf("%.100s: %w", chain[i].name, err)
		}
	}
	return o, nil
}

// classData reads the part of an object that one class of its hierarchy defines.
func (d *decoder) classData(o *Object, c *classDesc) error {
	switch {
	case c.flags&flagSerializable != 0:
		for _, f := range c.fields {
			v, err := d.field(f.kind)
			if err != nil {
				return fmt.Errorf("field %.100s: %w", f.name, err)
			}
			o.Fields[f.name] = v
		}
		if c.flags&flagWriteMethod == 0 {
			return nil
		}
	case c.flags&flagExternalizable != 0:
		if c.flags&flagBlockData == 0 {
			return errors.New("its format is unknown")
		}
	default:
		return nil
	}
	data, err := d.annotation()
	o.Data = append(o.Data, data...)
	return err
}

// field reads a value of a type.
func (d *decoder) field(kind byte) (any, error) {
	size := int64(0)
	switch kind {
	case 'B', 'Z':
		size = 1
	case 'C', 'S':
		size = 2
	case 'I', 'F':
		size = 4
	case 'J', 'D':
		size = 8
	case 'L', '[':
		return d.value()
	default:
		return nil, fmt.Errorf("unknown type %q", kind)
	}
	n, err := d.number(size)
	if err != nil {
		return nil, err
	}
	switch kind {
	case 'Z':
		return n != 0, nil
	case 'B':
		return int64(int8(n)), nil
	case 'S':
		return int64(int16(n)), nil
	case 'I':
		return int64(int32(n)), nil
	case 'F':
		return float64(math.Float32frombits(uint32(n))), nil
	case 'D':
		return math.Float64frombits(n), nil
	}
	return int64(n), nil
}

func (d *decoder) array() (any, error) {
	c, err := d.classDesc()
	if err != nil {
		return nil, err
	}
	if c == nil || len(c.name) < 2 || c.name[0] != '[' {
		return nil, errors.New("array of no type")
	}
	h := d.handle(nil)
	n, err := d.number(4)
	if err != nil {
		return nil, err
	}
	if n > uint64(len(d.b)) { // every element has at least a byte
		return nil, errShort
	}
	vs := make([]any, 0, n)
	for range n {
		v, err := d.field(c.name[1])
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	d.handles[h] = vs
	return vs, nil
}

func (d *decoder) enum() (Enum, error) {
	c, err := d.classDesc()
	if err != nil {
		return Enum{}, err
	}
	if c == nil {
		return Enum{}, errors.New("enumeration without a class")
	}
	h := d.handle(nil)
	v, err := d.value()
	if err != nil {
		return Enum{}, err
	}
	name, ok := v.(string)
	if !ok {
		return Enum{}, errors.New("enumeration constant without a name")
	}
	e := Enum{Class: c.name, Name: name}
	d.handles[h] = e
	return e, nil
}

// List returns the elements of a java.util.ArrayList or another collection that writes its elements in order.
func List(v any) ([]any, bool) {
	o, ok := v.(*Object)
	if !ok {
		return nil, false
	}
	elements := make([]any, 0, len(o.Data))
	for _, e := range o.Data {
		if _, block := e.([]byte); !block {
			elements = append(elements, e)
		}
	}
	return elements, true
}

// Pairs returns the keys and values of a java.util.HashMap or another map that writes them in turns.
func Pairs(v any) ([][2]any, bool) {
	elements, ok := List(v)
	if !ok || len(elements)%2 != 0 {
		return nil, false
	}
	pairs := make([][2]any, 0, len(elements)/2)
	for i := 0; i < len(elements); i += 2 {
		pairs = append(pairs, [2]any{elements[i], elements[i+1]})
	}
	return pairs, true
}
