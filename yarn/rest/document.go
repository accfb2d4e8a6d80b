package rest

import (
	"bytes"
	"encoding/xml"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Style is a form of a document in JSON. There is only one form in XML.
type Style uint8

// Styles of JSON.
const (
	Natural   Style = iota // {"root":{"n":1,"list":["a"]}}
	Unwrapped              // {"n":1,"list":["a"]}
	Mapped                 // {"n":"1","list":"a"}
)

// Document is a struct with the name of its root element. A list in it is a slice, or an iter.Seq whose elements are made while they are
// encoded: then a long list is never in memory as a whole before it is encoded.
type Document struct {
	Root  string
	Style Style
	Value any
}

// JSON returns the document in its style.
func (d Document) JSON() []byte { return d.Encode(JSON).Bytes() }

// XML returns the document in XML.
func (d Document) XML() []byte { return d.Encode(XML).Bytes() }

// Encode returns the document in a format for documents.
func (d Document) Encode(f Format) Body {
	if documentFormat(f) == XML {
		return d.xml()
	}
	return d.json()
}

func (d Document) json() Body {
	w := jsonWriter{mapped: d.Style == Mapped}
	if d.Style == Natural {
		w.b = append(w.b, '{')
		w.key(d.Root)
	}
	w.object(reflect.Indirect(reflect.ValueOf(d.Value)), true)
	if d.Style == Natural {
		w.b = append(w.b, '}')
	}
	return append(w.done, w.b)
}

func (d Document) xml() Body {
	var w xmlWriter
	w.b.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`)
	w.element(d.Root, reflect.ValueOf(d.Value))
	return append(w.done, w.b.Bytes())
}

// Body is an encoded document in pieces. Several answers may share it.
type Body [][]byte

// pieceSize is the size from which on a piece of a body is complete, in bytes. A long body isn't copied again and again while it grows.
const pieceSize = 64 << 10

// Len returns the number of bytes.
func (b Body) Len() (n int) {
	for _, piece := range b {
		n += len(piece)
	}
	return n
}

// Bytes returns the body in one piece.
func (b Body) Bytes() []byte {
	if len(b) == 1 {
		return b[0]
	}
	return bytes.Join(b, nil)
}

// follow follows pointers and interfaces to their value. It returns the zero Value for nil.
func follow(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// absent reports whether a field is omitted.
func (f *field) absent(v reflect.Value) bool {
	switch {
	case !v.IsValid():
		return true
	case v.Kind() == reflect.Slice:
		return v.Len() == 0
	case v.Kind() == reflect.Func: // the elements tell
		return v.IsNil()
	}
	return f.omitEmpty && v.IsZero()
}

type jsonWriter struct {
	done   Body
	b      []byte // what follows done; at least its last byte, which says whether a comma is needed
	mapped bool
}

func (w *jsonWriter) key(name string) {
	if n := len(w.b); w.b[n-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(appendString(w.b, name), ':')
}

// object writes a struct. A struct without members is {} at the root, and null further down in the mapped style.
func (w *jsonWriter) object(v reflect.Value, root bool) {
	start, pieces := len(w.b), len(w.done)
	w.b = append(w.b, '{')
	p := planOf(v.Type())
	for i := range p.fields {
		f := &p.fields[i]
		fv := follow(v.FieldByIndex(f.index))
		if f.absent(fv) {
			continue
		}
		switch fv.Kind() {
		case reflect.Slice:
			w.list(f, fv.Len(), fv.Index)
			continue
		case reflect.Func:
			w.sequence(f, fv)
			continue
		}
		w.key(f.name)
		w.value(fv)
	}
	if w.mapped && !root && len(w.b) == start+1 && len(w.done) == pieces {
		w.b = append(w.b[:start], "null"...)
		return
	}
	w.b = append(w.b, '}')
}

// list writes n elements, at least one.
func (w *jsonWriter) list(f *field, n int, at func(i int) reflect.Value) {
	if f.repeat && !w.mapped {
		for i := range n {
			w.key(f.name)
			w.value(follow(at(i)))
		}
		return
	}
	w.key(f.name)
	if w.mapped && n == 1 {
		w.value(follow(at(0)))
		return
	}
	w.b = append(w.b, '[')
	for i := range n {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.value(follow(at(i)))
		w.spill()
	}
	w.b = append(w.b, ']')
}

// sequence writes the elements of an iterator as a list. There is no list without elements.
func (w *jsonWriter) sequence(f *field, v reflect.Value) {
	if w.mapped { // the form depends on their number
		if all := slices.Collect(v.Seq()); len(all) > 0 {
			w.list(f, len(all), func(i int) reflect.Value { return all[i] })
		}
		return
	}
	n := 0
	for e := range v.Seq() {
		switch {
		case f.repeat || n == 0:
			w.key(f.name)
			if !f.repeat {
				w.b = append(w.b, '[')
			}
		default:
			w.b = append(w.b, ',')
		}
		w.value(follow(e))
		w.spill()
		n++
	}
	if n > 0 && !f.repeat {
		w.b = append(w.b, ']')
	}
}

// spill begins a new piece if this one is complete.
func (w *jsonWriter) spill() {
	if n := len(w.b) - 1; n >= pieceSize {
		last := w.b[n]
		w.done = append(w.done, w.b[:n])
		w.b = append(make([]byte, 0, pieceSize+pieceSize/4), last)
	}
}

func (w *jsonWriter) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		w.object(v, false)
	case reflect.String:
		w.b = appendString(w.b, v.String())
	default:
		if w.mapped {
			w.b = append(appendScalar(append(w.b, '"'), v), '"')
		} else {
			w.b = appendScalar(w.b, v)
		}
	}
}

// appendScalar writes a number or boolean as Java does.
func appendScalar(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(b, v.Uint(), 10)
	case reflect.Float32:
		return appendFloat(b, v.Float(), 32)
	case reflect.Float64:
		return appendFloat(b, v.Float(), 64)
	}
	panic("rest: a document can't hold a " + v.Type().String())
}

// appendFloat writes a float as Java's Float.toString and Double.toString do: always with a fraction, and with an
// exponent outside of [0.001, 10,000,000). Infinities and NaN, which JSON lacks, are written as 0.
func appendFloat(b []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	if a := math.Abs(f); a != 0 && (a < 1e-3 || a >= 1e7) {
		return appendScientific(b, f, bits)
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, bits)
	if !bytes.ContainsRune(b[start:], '.') {
		b = append(b, ".0"...)
	}
	return b
}

func appendScientific(b []byte, f float64, bits int) []byte {
	text := strconv.AppendFloat(nil, f, 'e', -1, bits)
	mantissa, exponent, _ := bytes.Cut(text, []byte("e"))
	b = append(b, mantissa...)
	if !bytes.ContainsRune(mantissa, '.') {
		b = append(b, ".0"...)
	}
	b = append(b, 'E')
	n, _ := strconv.Atoi(string(exponent))
	return strconv.AppendInt(b, int64(n), 10)
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string. Bytes that aren't UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

type xmlWriter struct {
	done    Body
	b       bytes.Buffer
	scratch []byte
}

// element writes a value as an element, and a list as one element for each value.
func (w *xmlWriter) element(name string, v reflect.Value) {
	v = follow(v)
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			w.element(name, v.Index(i))
		}
		return
	case reflect.Func:
		for e := range v.Seq() {
			w.element(name, e)
		}
		return
	}
	w.b.WriteByte('<')
	w.b.WriteString(name)
	if v.Kind() == reflect.Struct {
		w.object(v)
	} else {
		w.b.WriteByte('>')
		w.text(v)
	}
	w.b.WriteString("</")
	w.b.WriteString(name)
	w.b.WriteByte('>')
	if w.b.Len() >= pieceSize {
		w.done = append(w.done, w.b.Bytes())
		w.b = *bytes.NewBuffer(make([]byte, 0, pieceSize+pieceSize/4))
	}
}

// object writes what follows an element's name: attributes, the end of the tag, and children.
func (w *xmlWriter) object(v reflect.Value) {
	p := planOf(v.Type())
	for i := range p.fields {
		if f := &p.fields[i]; f.xsi {
			w.b.WriteString(` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="`)
			w.text(v.FieldByIndex(f.index))
			w.b.WriteByte('"')
		}
	}
	w.b.WriteByte('>')
	for i := range p.fields {
		f := &p.fields[i]
		if fv := follow(v.FieldByIndex(f.index)); !f.xsi && !f.absent(fv) {
			w.element(f.name, fv)
		}
	}
}

func (w *xmlWriter) text(v reflect.Value) {
	if v.Kind() == reflect.String {
		// the buffer's Write doesn't fail
		_ = xml.EscapeText(&w.b, []byte(v.String()))
		return
	}
	w.scratch = appendScalar(w.scratch[:0], v)
	w.b.Write(w.scratch)
}
