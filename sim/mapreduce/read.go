package mapreduce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"heddle/rm/queue"
)

// mostBytes is how large a scenario's file may be.
const mostBytes = 64 << 20

// nothing is what is wrong with a blank file.
const nothing = "there is nothing in it: docs/scenarios.md says what a scenario has"

// FileError is what is wrong with a scenario's file.
type FileError struct {
	File string
	Line int // from 1
	What string
}

func (e *FileError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// ReadFile reads a scenario from a file. The error of a wrong one is a FileError.
func ReadFile(name string) (*Scenario, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > mostBytes {
		return nil, fmt.Errorf("%s: it is larger than %d MB", name, mostBytes>>20)
	}
	return Read(name, b)
}

// Read reads a scenario, which is JSON or YAML. The name tells which, where the text leaves it open, and is for errors, which are of
// type FileError.
func Read(name string, text []byte) (*Scenario, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, &FileError{name, 1, nothing}
	}
	if isYAML(name, text) {
		b, err := fromYAML(name, text)
		if err != nil {
			return nil, err
		}
		text = b
	}
	p := &parser{text: text, line: 1, lines: map[string]int{}}
	p.d = json.NewDecoder(bytes.NewReader(text))
	fail := func(line int, what string) (*Scenario, error) {
		return nil, &FileError{name, line, what}
	}
	if err := p.value("", reflect.TypeFor[Scenario](), 0); err != nil {
		line := p.line
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line = p.lineAt(syntax.Offset)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fail(p.lineAt(int64(len(text))), "it ends in the middle")
		}
		return fail(line, err.Error())
	}
	if _, err := p.d.Token(); !errors.Is(err, io.EOF) {
		return fail(p.lineAt(p.d.InputOffset()), "there is more after the scenario")
	}
	if !utf8.Valid(text) { // the decoder would take it, with other letters
		return fail(p.lineAt(notUTF8(text)), "it is no UTF-8")
	}
	s := &Scenario{}
	if err := json.Unmarshal(text, s); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return fail(p.lineAt(kind.Offset), fmt.Sprintf("%s: %s is no %s", kind.Field, strings.TrimPrefix(kind.Value, "number "), numberOf(kind.Type)))
		}
		return fail(1, err.Error())
	}
	f := s.check()
	var tree *queue.Tree
	if f == nil {
		tree, _, f = s.tree()
	}
	if f != nil {
		return fail(p.lineOf(f.path), f.path+": "+f.text)
	}
	for _, f := range s.odd(tree) {
		s.warnings = append(s.warnings, FileError{name, p.lineOf(f.path), f.path + ": " + f.text})
	}
	return s, nil
}

// Warnings returns what is probably a mistake in the file that the scenario was read from.
func (s *Scenario) Warnings() []FileError { return s.warnings }

// notUTF8 returns where a text has the first byte that is no part of a letter.
func notUTF8(text []byte) (at int64) {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at, text = at+int64(n), text[n:]
	}
	return at
}

// parser finds out where the parts of a scenario are in its text, and refuses those that it doesn't know.
type parser struct {
	d     *json.Decoder
	text  []byte
	line  int            // of what was read last
	upTo  int64          // what line counts: each letter is looked at once
	lines map[string]int // by path
}

func (p *parser) lineAt(offset int64) int {
	return 1 + bytes.Count(p.text[:min(max(offset, 0), int64(len(p.text)))], []byte("\n"))
}

// lineOf returns where a path is or, if it isn't there, what it would be in.
func (p *parser) lineOf(path string) int {
	for path != "" {
		if l, ok := p.lines[path]; ok {
			return l
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return p.lines[""]
}

func (p *parser) token() (json.Token, error) {
	t, err := p.d.Token()
	at := p.d.InputOffset()
	p.line += bytes.Count(p.text[p.upTo:at], []byte("\n"))
	p.upTo = at
	return t, err
}

// deepest is how deep values may be nested: no scenario needs more.
const deepest = 20

// value reads a value that is to become of a type.
func (p *parser) value(path string, t reflect.Type, depth int) error {
	token, err := p.token()
	if err != nil {
		return err
	}
	p.lines[path] = p.line
	if depth > deepest {
		return errors.New("it is nested too deep")
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	where := path
	if where == "" {
		where = "the scenario"
	}
	switch token {
	case json.Delim('{'):
		if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
			return fmt.Errorf("%s must be %s, not an object", where, kindOf(t))
		}
		return p.object(path, t, depth)
	case json.Delim('['):
		if t.Kind() != reflect.Slice {
			return fmt.Errorf("%s must be %s, not a list", where, kindOf(t))
		}
		for i := 0; p.d.More(); i++ {
			if err := p.value(fmt.Sprintf("%s[%d]", path, i), t.Elem(), depth+1); err != nil {
				return err
			}
		}
		_, err := p.token()
		return err
	}
	ok := false
	switch token.(type) {
	case string:
		ok = t.Kind() == reflect.String
	case float64:
		ok = t.Kind() == reflect.Float64 || t.Kind() == reflect.Int || t.Kind() == reflect.Int64 || t.Kind() == reflect.Uint64
	case bool:
		ok = t.Kind() == reflect.Bool
	}
	if !ok {
		return fmt.Errorf("%s must be %s", where, kindOf(t))
	}
	return nil
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object with keys"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "text in quotes"
	case reflect.Bool:
		return "true or false"
	}
	return "a number"
}

func numberOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Uint64:
		return "whole number from 0"
	case reflect.Int, reflect.Int64:
		return "whole number"
	}
	return t.String()
}

// object reads the fields of a struct or the entries of a map.
func (p *parser) object(path string, t reflect.Type, depth int) error {
	begins := path
	if begins != "" {
		begins += "."
	}
	for p.d.More() {
		token, err := p.token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if _, twice := p.lines[begins+name]; twice {
			return fmt.Errorf("%s is there twice", begins+name)
		}
		p.lines[begins+name] = p.line
		of := t
		if t.Kind() == reflect.Map {
			of = t.Elem()
		} else if of = field(t, name); of == nil {
			return fmt.Errorf("%s isn't known: %s has %s", begins+name, describe(path), strings.Join(fields(t), ", "))
		}
		line := p.line
		if err := p.value(begins+name, of, depth+1); err != nil {
			return err
		}
		p.lines[begins+name] = line
	}
	_, err := p.token()
	return err
}

func describe(path string) string {
	if path == "" {
		return "a scenario"
	}
	return path
}

func field(t reflect.Type, name string) reflect.Type {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("json") == name {
			return t.Field(i).Type
		}
	}
	return nil
}

func fields(t reflect.Type) (out []string) {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			out = append(out, f.Tag.Get("json"))
		}
	}
	return out
}
