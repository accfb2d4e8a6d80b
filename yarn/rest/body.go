package rest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of a body, and maxElements the number of its elements. An element of a few bytes takes
// many times as much memory.
const (
	maxDepth    = 64
	maxElements = 1 << 18
)

// element is a body or a part of it, from JSON or XML: a text, or members in the order of the input.
type element struct {
	name    string
	text    string
	members []element
}

// Target says into what a body is read.
type Target struct {
	Root    string // name of the root element
	Wrapped bool   // JSON has the root element, too
	Value   any    // pointer to a struct with yarn tags
}

// Decode reads a body into a target. Its errors are of type *Error. As in Jersey, the header names the character set of JSON, and the XML
// declaration that of XML. Unlike Jersey, which answers with 500, it refuses a body whose character set it doesn't know with 415.
func Decode(contentType string, body []byte, to Target) error {
	media, parameters, err := mime.ParseMediaType(contentType)
	var root element
	var text func([]byte) []byte
	if err == nil {
		if text, err = decoder(parameters["charset"]); err != nil {
			return err
		}
	}
	switch {
	case err == nil && media == mediaTypes[JSON]:
		root, err = parseJSON(text(body), to)
	case err == nil && (media == mediaTypes[XML] || media == "text/xml"):
		root, err = parseXML(body, to)
	default:
		return &Error{
			http.StatusUnsupportedMediaType, WebApplicationException,
			fmt.Sprintf("a body of type %q can't be read: send application/json or application/xml", contentType),
		}
	}
	if err != nil {
		return err
	}
	fill(reflect.ValueOf(to.Value).Elem(), &root)
	return nil
}

// tree counts the elements of a body that is being read.
type tree struct{ elements int }

// add adds a member to an element.
func (t *tree) add(to *element, m element) error {
	if t.elements++; t.elements > maxElements {
		return fmt.Errorf("more than %d elements", maxElements)
	}
	to.members = append(to.members, m)
	return nil
}

const unmarshal = "javax.xml.bind.UnmarshalException"

// parseError returns the error in JAXB's words.
func parseError(class string, err error) error {
	return badBody("%s\n - with linked exception:\n[%s: %v]", unmarshal, class, err)
}

const (
	streamException = "javax.xml.stream.XMLStreamException"
	saxException    = "org.xml.sax.SAXParseException"
)

func parseJSON(body []byte, to Target) (element, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return element{}, badBody("%s: Error creating JSON-based XMLStreamReader\n - with linked exception:\n"+
			"[%s: JSON expression can not be empty!]", unmarshal, streamException)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var root element
	t, err := d.Token()
	switch {
	case err != nil:
	case t == json.Delim('['):
		err = errors.New("an object is expected, and this is a list")
	case t == nil:
		err = errors.New("an object is expected, and this is null")
	}
	if err == nil {
		err = (&tree{}).readJSON(d, t, &root, 0)
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the end of the value")
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return element{}, parseError(streamException, err)
	}
	if !to.Wrapped {
		return root, nil
	}
	if len(root.members) == 0 {
		return element{}, parseError(streamException, fmt.Errorf("a member %q is expected", to.Root))
	}
	if got := root.members[0].name; got != to.Root {
		return element{}, unexpected(got, to.Root)
	}
	return root.members[0], nil
}

func unexpected(got, want string) error {
	return badBody("%s: unexpected element (uri:\"\", local:%q). Expected elements are <{}%s>", unmarshal, got, want)
}

// readJSON reads the value that begins with token t. A list becomes members of the same name; null becomes nothing.
func (b *tree) readJSON(d *json.Decoder, t json.Token, to *element, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch t := t.(type) {
	case string:
		to.text = t
	case json.Number:
		to.text = t.String()
	case bool:
		to.text = strconv.FormatBool(t)
	case json.Delim:
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if err := b.readMember(d, name.(string), to, depth); err != nil {
				return err
			}
		}
		_, err := d.Token() // the closing brace
		return err
	}
	return nil
}

func (b *tree) readMember(d *json.Decoder, name string, to *element, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t == json.Delim('[') {
		for d.More() {
			if err := b.readMember(d, name, to, depth+1); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	}
	if t == nil {
		return nil
	}
	m := element{name: name}
	if err := b.readJSON(d, t, &m, depth+1); err != nil {
		return err
	}
	return b.add(to, m)
}

func parseXML(body []byte, to Target) (element, error) {
	d := xml.NewDecoder(bytes.NewReader(xmlText(body)))
	d.CharsetReader = xmlCharset
	var root element
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			err = errors.New("premature end of file")
		}
		if err != nil {
			return element{}, parseError(saxException, err)
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		root.name = start.Name.Local
		if err := (&tree{}).readXML(d, &root, 0); err != nil {
			return element{}, parseError(saxException, err)
		}
		break
	}
	if root.name != to.Root {
		return element{}, unexpected(root.name, to.Root)
	}
	return root, nil
}

// readXML reads the contents of an element.
func (b *tree) readXML(d *xml.Decoder, to *element, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	var text strings.Builder
	for {
		t, err := d.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		switch t := t.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.StartElement:
			m := element{name: t.Name.Local}
			if err := b.readXML(d, &m, depth+1); err != nil {
				return err
			}
			if err := b.add(to, m); err != nil {
				return err
			}
		case xml.EndElement:
			if len(to.members) == 0 {
				to.text = text.String()
			}
			return nil
		}
	}
}

// fill sets those fields of a struct that occur in the body, and leaves the others unchanged.
func fill(v reflect.Value, e *element) {
	p := planOf(v.Type())
	for i := range e.members {
		m := &e.members[i]
		if f := p.byName[m.name]; f != nil && !f.xsi {
			set(v.FieldByIndex(f.index), m)
		}
	}
}

func set(v reflect.Value, e *element) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		set(v.Elem(), e)
	case reflect.Slice:
		item := reflect.New(v.Type().Elem()).Elem()
		set(item, e)
		v.Set(reflect.Append(v, item))
	case reflect.Struct:
		fill(v, e)
	case reflect.String:
		v.SetString(e.text)
	case reflect.Bool:
		text := strings.TrimSpace(e.text)
		v.SetBool(text == "true" || text == "1")
	case reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(e.text), "+"), 10, v.Type().Bits())
		if err != nil {
			n = 0
		}
		v.SetInt(n)
	default:
		panic("rest: a body can't be read into a " + v.Type().String())
	}
}
