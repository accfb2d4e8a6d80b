package keystore

import (
	"errors"
	"fmt"
	"strings"
)

// JCEKS stores a secret key as a sealed object in Java's serialization (Java: javax.crypto.SealedObject), which only its reader knows the
// end of. This reads objects with numbers, texts, byte arrays and other such objects as fields, and no more.

const (
	tcNull, tcReference, tcClass, tcObject, tcString, tcArray = 0x70, 0x71, 0x72, 0x73, 0x74, 0x75
	tcBlock, tcEnd                                            = 0x77, 0x78

	firstHandle  = 0x7e0000
	writesItself = 1 // flags of a class: it has a method writeObject
	serializable = 2
	maxDepth     = 16
	maxFields    = 64
)

type class struct {
	name   string
	flags  byte
	fields []field
	super  *class
}

type field struct {
	kind byte
	name string
}

// object is an object's fields by name: []byte, string, *object, or nil for anything else.
type object struct {
	class  string
	fields map[string]any
}

// object reads one serialized object with its header.
func (r *javaReader) object() *object {
	in := &serial{stream: &r.stream}
	if in.u32() != 0xaced0005 {
		in.fail(errors.New("a secret key isn't serialized by Java"))
		return nil
	}
	o, _ := in.value().(*object)
	if o == nil {
		in.fail(errors.New("a secret key is no object"))
	}
	return o
}

// parseObject reads an object that fills the bytes.
func parseObject(b []byte) (*object, error) {
	r := &javaReader{stream: stream{rest: b}}
	o := r.object()
	return o, r.err
}

// serial reads values of a stream of objects.
type serial struct {
	*stream
	known []any // by handle
	depth int
}

func (s *serial) keep(v any) int {
	s.known = append(s.known, v)
	return len(s.known) - 1
}

// value reads one value.
func (s *serial) value() any {
	if s.depth++; s.depth > maxDepth {
		s.fail(errors.New("a serialized key is nested too deeply"))
	}
	defer func() { s.depth-- }()
	if s.err != nil {
		return nil
	}
	switch tag := s.u8(); tag {
	case tcNull:
		return nil
	case tcReference:
		i := int(s.u32()) - firstHandle
		if i < 0 || i >= len(s.known) {
			s.fail(errors.New("a serialized key refers to what isn't there"))
			return nil
		}
		return s.known[i]
	case tcString:
		v := s.utf()
		s.keep(v)
		return v
	case tcClass:
		return s.class()
	case tcArray:
		return s.array()
	case tcObject:
		return s.fieldsOf(s.classOf())
	default:
		s.fail(fmt.Errorf("a serialized key has the unknown tag %#x", tag))
		return nil
	}
}

func (s *serial) classOf() *class {
	c, _ := s.value().(*class)
	return c
}

// class reads the description of a class.
func (s *serial) class() *class {
	c := &class{name: s.utf()}
	s.take(8) // its version
	s.keep(c)
	c.flags = s.u8()
	n := int(s.u16())
	if n > maxFields {
		s.fail(errors.New("a serialized class has too many fields"))
	}
	for ; n > 0 && s.err == nil; n-- {
		f := field{s.u8(), s.utf()}
		if f.kind == 'L' || f.kind == '[' {
			s.value() // the name of its type
		}
		c.fields = append(c.fields, f)
	}
	s.skipExtra()
	c.super = s.classOf()
	return c
}

// skipExtra skips what a class wrote by itself.
func (s *serial) skipExtra() {
	for s.err == nil && len(s.rest) > 0 {
		switch s.rest[0] {
		case tcEnd:
			s.u8()
			return
		case tcBlock:
			s.u8()
			s.take(int(s.u8()))
		default:
			s.value()
		}
	}
	s.fail(errShort)
}

func (s *serial) array() any {
	c := s.classOf()
	if c == nil || c.name != "[B" {
		s.fail(errors.New("a serialized key has an array of other things than bytes"))
		return nil
	}
	i := s.keep(nil)
	b := s.take(int(s.u32()))
	s.known[i] = b
	return b
}

// fieldsOf reads an object of a class: its fields from the topmost class down.
func (s *serial) fieldsOf(c *class) any {
	if c == nil {
		s.fail(errors.New("a serialized key has no class"))
		return nil
	}
	o := &object{class: c.name, fields: map[string]any{}}
	s.keep(o)
	var line []*class
	for ; c != nil; c = c.super {
		if line = append([]*class{c}, line...); len(line) > maxDepth {
			s.fail(errors.New("a serialized key has too many classes"))
			return nil
		}
	}
	for _, c := range line {
		if c.flags&serializable == 0 {
			s.fail(fmt.Errorf("a serialized key is of the class %s, which writes itself", c.name))
			return nil
		}
		for _, f := range c.fields {
			o.fields[f.name] = s.field(f.kind)
		}
		if c.flags&writesItself != 0 {
			s.skipExtra()
		}
	}
	return o
}

func (s *serial) field(kind byte) any {
	switch kind {
	case 'B', 'Z':
		s.take(1)
	case 'C', 'S':
		s.take(2)
	case 'I', 'F':
		s.take(4)
	case 'J', 'D':
		s.take(8)
	case 'L', '[':
		return s.value()
	default:
		s.fail(fmt.Errorf("a serialized key has a field of the unknown kind %q", kind))
	}
	return nil
}

// openSecret decrypts a sealed secret key and returns its bytes.
func openSecret(o *object, password string) ([]byte, error) {
	sealed, _ := o.fields["encryptedContent"].([]byte)
	parameters, _ := o.fields["encodedParams"].([]byte)
	method, _ := o.fields["sealAlg"].(string)
	if len(sealed) == 0 {
		return nil, fmt.Errorf("%s is no sealed object", o.class)
	}
	if !strings.EqualFold(method, "PBEWithMD5AndTripleDES") {
		return nil, fmt.Errorf("it is sealed by the unknown method %q", method)
	}
	plain, err := decryptTripleDES(sealed, parameters, password)
	if err != nil {
		return nil, err
	}
	inner, err := parseObject(plain)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrPassword, err)
	}
	for _, name := range []string{"key", "encoded"} { // of SecretKeySpec and of KeyRep
		if b, ok := inner.fields[name].([]byte); ok {
			return b, nil
		}
	}
	return nil, fmt.Errorf("a key of the class %s has no bytes", inner.class)
}
