// Package xmltree reads XML files as trees, as configurations of Hadoop are written: UTF-8, without entities, with XInclude, and bounded.
package xmltree

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Limits of a configuration file. Real files are a hundred times smaller. The limits protect memory from hostile or
// broken files.
const (
	maxFileSize     = 8 << 20 // bytes of one file
	maxElementDepth = 64      // elements within elements
	maxElements     = 400_000 // elements of a file, those of included files as well
)

// Source is where something was written.
type Source struct {
	File string // path, or a word in angle brackets such as <command line>
	Line int    // from 1; 0 if there are no lines
}

// String returns file:line.
func (s Source) String() string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// SyntaxError says that a file is not acceptable XML, or not a configuration.
type SyntaxError struct {
	Source Source
	Reason string
}

func (e *SyntaxError) Error() string { return e.Source.String() + ": " + e.Reason }

// Element is an element of an XML file. Its includes are resolved.
type Element struct {
	Name     string // without namespace
	Attrs    map[string]string
	Children []*Element
	Source   Source

	// own is the text between the children: own[i] precedes Children[i].
	own [][]byte
}

// Text returns the text of the element and everything below it, without comments, with white space.
func (e *Element) Text() string {
	var b strings.Builder
	e.writeText(&b)
	return b.String()
}

func (e *Element) writeText(b *strings.Builder) {
	for i, s := range e.own {
		b.Write(s)
		if i < len(e.Children) {
			e.Children[i].writeText(b)
		}
	}
}

// ReadXML reads an XML file as a tree, and resolves XInclude in it. The file must be UTF-8 (a byte order mark is
// skipped), have at most 8 MiB, and define no entities. Errors are a *SyntaxError with the line, or wrap that of
// os.ReadFile.
func ReadXML(path string) (*Element, error) {
	return (&reader{}).file(filepath.Clean(path), nil)
}

// ParseXML parses XML in memory as ReadXML does. Messages use name as the file's name, and includes are relative to its
// folder.
func ParseXML(name string, data []byte) (*Element, error) {
	return (&reader{}).parse(name, data, nil)
}

// reader reads one file and its includes. It counts the bytes and elements of all of them together.
type reader struct {
	elements int
	includes int
}

func (r *reader) file(path string, chain []string) (*Element, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	return r.parse(path, data, chain)
}

func readBounded(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	if !st.Mode().IsRegular() { // opening a pipe or device could block for ever
		return nil, &SyntaxError{Source{File: path}, "is not a file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	if len(data) > maxFileSize {
		return nil, &SyntaxError{Source{File: path}, fmt.Sprintf("larger than %d MiB", maxFileSize>>20)}
	}
	return data, nil
}

// element returns the element that a tag begins.
func element(tag xml.StartElement, at Source) *Element {
	e := &Element{Name: tag.Name.Local, Source: at, own: make([][]byte, 1)}
	if len(tag.Attr) > 0 {
		e.Attrs = make(map[string]string, len(tag.Attr))
	}
	for _, a := range tag.Attr {
		e.Attrs[a.Name.Local] = a.Value
	}
	return e
}

// enter puts an element into the one that is open, which is the last of the stack; without one it is the root.
func enter(e *Element, stack []*Element, root **Element) error {
	switch {
	case len(stack) == maxElementDepth:
		return &SyntaxError{e.Source, fmt.Sprintf("<%s> is nested more than %d deep", e.Name, maxElementDepth)}
	case len(stack) > 0:
		p := stack[len(stack)-1]
		p.Children, p.own = append(p.Children, e), append(p.own, nil)
	case *root != nil:
		return &SyntaxError{e.Source, fmt.Sprintf("<%s> follows the end of <%s>; a file has one outermost element", e.Name, (*root).Name)}
	default:
		*root = e
	}
	return nil
}

// parse parses the text of one file into its root element. chain are the files that led here, outermost first.
func (r *reader) parse(path string, data []byte, chain []string) (*Element, error) {
	if err := checkEncoding(path, data); err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = onlyUTF8
	var (
		root  *Element
		stack []*Element
	)
	for {
		line, _ := d.InputPos()
		at := Source{File: path, Line: line}
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntaxError(path, d, err)
		}
		switch tok := tok.(type) {
		case xml.Directive:
			if bytes.Contains(bytes.ToUpper(tok), []byte("<!ENTITY")) || bytes.HasPrefix(bytes.ToUpper(tok), []byte("ENTITY")) {
				return nil, &SyntaxError{at, "defines XML entities, which are not accepted; write the text out"}
			}
		case xml.StartElement:
			e := element(tok, at)
			if r.elements++; r.elements > maxElements {
				return nil, &SyntaxError{at, fmt.Sprintf("more than %d elements", maxElements)}
			}
			if err := enter(e, stack, &root); err != nil {
				return nil, err
			}
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(stack) == 0 {
				if trim(string(tok)) != "" {
					return nil, &SyntaxError{at, "text outside of any element"}
				}
				continue
			}
			e := stack[len(stack)-1]
			last := &e.own[len(e.own)-1]
			*last = append(*last, tok...)
		}
	}
	if root == nil {
		return nil, &SyntaxError{Source{File: path}, "holds no XML element; an empty configuration is <configuration/>"}
	}
	if root.Name == includeElement {
		return nil, &SyntaxError{root.Source, "an include can't be the outermost element"}
	}
	if err := r.resolveIncludes(root, append(chain, path)); err != nil {
		return nil, err
	}
	return root, nil
}

// checkEncoding refuses encodings that the decoder would report unclearly.
func checkEncoding(path string, data []byte) error {
	for _, bom := range []struct{ mark, name string }{
		{"\xff\xfe\x00\x00", "UTF-32"},
		{"\x00\x00\xfe\xff", "UTF-32"},
		{"\xff\xfe", "UTF-16"},
		{"\xfe\xff", "UTF-16"},
		{"<\x00", "UTF-16"},
		{"\x00<", "UTF-16"},
	} {
		if bytes.HasPrefix(data, []byte(bom.mark)) {
			return &SyntaxError{Source{File: path, Line: 1}, "is written in " + bom.name + "; save it as UTF-8"}
		}
	}
	if utf8.Valid(data) {
		return nil
	}
	line := 1
	for len(data) > 0 {
		c, n := utf8.DecodeRune(data)
		if c == utf8.RuneError && n == 1 {
			break
		}
		if c == '\n' {
			line++
		}
		data = data[n:]
	}
	return &SyntaxError{Source{File: path, Line: line}, "is not valid UTF-8; save it as UTF-8"}
}

// onlyUTF8 is called for declared encodings other than UTF-8. checkEncoding has verified that the file is UTF-8, as
// ASCII is.
func onlyUTF8(charset string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(charset) {
	case "us-ascii", "ascii", "utf8":
		return in, nil
	}
	return nil, fmt.Errorf("is declared as %s; save it as UTF-8", charset)
}

func syntaxError(path string, d *xml.Decoder, err error) error {
	line, _ := d.InputPos()
	reason := err.Error()
	var se *xml.SyntaxError
	if errors.As(err, &se) {
		line, reason = se.Line, "is not well-formed XML: "+se.Msg
		if strings.HasPrefix(se.Msg, "invalid character entity") {
			reason += "; only &lt; &gt; &amp; &apos; &quot; and numbers are known, write a bare & as &amp;"
		}
	} else if i := strings.Index(reason, "is declared as"); i >= 0 {
		reason = reason[i:]
	}
	return &SyntaxError{Source{File: path, Line: line}, strings.TrimPrefix(reason, "xml: ")}
}

// trim removes what Java's String.trim removes: spaces and control characters at both ends.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}
