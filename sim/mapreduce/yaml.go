package mapreduce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isYAML tells by name and text whether a scenario is YAML. A text that begins with a bracket is JSON, unless its name says otherwise.
func isYAML(name string, text []byte) bool {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
		return true
	}
	start := bytes.TrimLeft(text, " \t\r\n")
	return !strings.HasSuffix(name, ".json") && len(start) > 0 && !bytes.ContainsAny(start[:1], "{[")
}

// fromYAML writes a YAML document as JSON in which each value is on the line that it has in the document. A reader then finds the same
// flaws on the same lines as in a file that was JSON from the start. Aliases and merge keys (<<) are written out, on the line of the
// alias. The error is a FileError.
func fromYAML(name string, text []byte) ([]byte, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := d.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &FileError{name, 1, nothing}
		}
		return nil, yamlError(name, text, err)
	}
	w := &lineWriter{line: 1, open: map[*yaml.Node]bool{}, most: 8*len(text) + writtenOut}
	if err := w.value(document.Content[0], 0); err != nil {
		return nil, &FileError{name, w.line, err.Error()}
	}
	var more yaml.Node
	switch err := d.Decode(&more); {
	case err == nil:
		return nil, &FileError{name, max(w.line, more.Line), "there is more after the scenario"}
	case !errors.Is(err, io.EOF):
		return nil, yamlError(name, text, err)
	}
	return w.out.Bytes(), nil
}

var (
	yamlLine = regexp.MustCompile(`^line (\d+): `)
	// The library counts lines from 0 in what its parser says, and from 1 in what its scanner says. These are the parser's.
	yamlParser  = regexp.MustCompile(`^(did not find expected (<|node content|'-' indicator|key|',' or)|found (undefined tag handle|duplicate|incompatible))`)
	yamlUnknown = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// yamlError gives an error of the library its line. Few have none: for an anchor that isn't there it is looked for, and for letters that
// no text has.
func yamlError(name string, text []byte, err error) error {
	what, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	last := 1 + bytes.Count(text, []byte("\n"))
	if m := yamlLine.FindStringSubmatch(what); m != nil {
		line, _ = strconv.Atoi(m[1])
		if what = what[len(m[0]):]; yamlParser.MatchString(what) {
			line++
		}
	} else if m := yamlUnknown.FindStringSubmatch(what); m != nil {
		if at := bytes.Index(text, []byte("*"+m[1])); at > 0 {
			line += bytes.Count(text[:at], []byte("\n"))
		}
	} else if at := bytes.IndexFunc(text, func(r rune) bool { return r == '\uFFFD' || r < ' ' && !strings.ContainsRune("\t\n\r", r) }); at > 0 {
		line += bytes.Count(text[:at], []byte("\n"))
	}
	return &FileError{name, min(max(line, 1), last), "it is no YAML: " + what}
}

// writtenOut is by how many bytes aliases may enlarge a document, beyond eight times its size.
const writtenOut = 4 << 20

// mostMerges is how many objects merge keys may name, all in all.
const mostMerges = 100_000

// lineWriter writes JSON line by line. Lines only grow.
type lineWriter struct {
	out  bytes.Buffer
	line int
	open map[*yaml.Node]bool // aliases that are being written out
	held int                 // depth of aliases: what is in them has lines of its own, which don't count
	// merged counts what merge keys name, since names of names of names may double without adding a key.
	merged int
	most   int // bytes of JSON
}

// at continues to the line of a node.
func (w *lineWriter) at(n *yaml.Node) {
	for w.held == 0 && w.line < n.Line {
		w.out.WriteByte('\n')
		w.line++
	}
}

func (w *lineWriter) value(n *yaml.Node, depth int) error {
	w.at(n)
	switch {
	case depth > deepest:
		return errors.New("it is nested too deep")
	case w.out.Len() > w.most:
		return fmt.Errorf("with its aliases written out it is larger than %d MB", w.most>>20)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				w.out.WriteByte(',')
			}
			if err := w.value(item, depth+1); err != nil {
				return err
			}
		}
		w.out.WriteByte(']')
		return nil
	case yaml.AliasNode:
		return w.aliased(n, func(target *yaml.Node) error { return w.value(target, depth) })
	}
	return w.scalar(n)
}

// aliased has something done with what an alias stands for.
func (w *lineWriter) aliased(n *yaml.Node, do func(*yaml.Node) error) error {
	if w.open[n.Alias] {
		return fmt.Errorf("*%s is within itself", n.Value)
	}
	w.open[n.Alias] = true
	w.held++
	err := do(n.Alias)
	w.held--
	delete(w.open, n.Alias)
	return err
}

func (w *lineWriter) mapping(n *yaml.Node, depth int) error {
	w.out.WriteByte('{')
	own := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		own[n.Content[i].Value] = true
	}
	first := true
	var entries func(n *yaml.Node, merged bool) error
	entries = func(n *yaml.Node, merged bool) error {
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			w.at(key)
			if key.Kind != yaml.ScalarNode {
				return errors.New("a key must be a word")
			}
			if key.ShortTag() == "!!merge" {
				if err := w.merge(value, entries); err != nil {
					return err
				}
				continue
			}
			if merged {
				if own[key.Value] {
					continue
				}
				own[key.Value] = true // of several that are merged the first one counts
			}
			if !first {
				w.out.WriteByte(',')
			}
			first = false
			w.text(key.Value)
			w.out.WriteByte(':')
			if err := w.value(value, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := entries(n, false); err != nil {
		return err
	}
	w.out.WriteByte('}')
	return nil
}

// merge writes the entries of what a merge key names: an object, or a list of objects.
func (w *lineWriter) merge(n *yaml.Node, entries func(*yaml.Node, bool) error) error {
	w.at(n)
	if w.merged++; w.merged > mostMerges {
		return fmt.Errorf("merge keys (<<) name more than %d objects", mostMerges)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return entries(n, true)
	case yaml.AliasNode:
		return w.aliased(n, func(target *yaml.Node) error { return w.merge(target, entries) })
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if item.Kind == yaml.SequenceNode {
				break
			}
			if err := w.merge(item, entries); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("<< must name an object or a list of objects")
}

func (w *lineWriter) text(s string) {
	b, _ := json.Marshal(s) // a string is always possible
	w.out.Write(b)
}

// scalar writes a number, true, false, null or text.
func (w *lineWriter) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!null":
	default: // dates, too, are text
		w.text(n.Value)
		return nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return fmt.Errorf("%q is no %s", n.Value, strings.TrimPrefix(n.ShortTag(), "!!"))
	}
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return fmt.Errorf("%s is no number that a scenario can have", n.Value)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.out.Write(b)
	return nil
}
