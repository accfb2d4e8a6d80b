package conf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes files in a temporary folder; names and contents alternate.
func write(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func property(name, value string) string {
	return "<property><name>" + name + "</name><value>" + value + "</value></property>\n"
}

func configuration(parts ...string) string {
	return "<?xml version=\"1.0\"?>\n<configuration>\n" + strings.Join(parts, "") + "</configuration>\n"
}

// raw reads a configuration from text and returns its properties as written.
func rawOf(t *testing.T, text string) map[string]string {
	t.Helper()
	p, err := LoadFile(filepath.Join(write(t, "x.xml", text), "x.xml"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for prop := range p.All() {
		out[prop.Name] = prop.Value
	}
	return out
}

// What Hadoop 3.4.2's Configuration makes of the same files.
func TestPropertiesAsHadoopReadsThem(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"empty value", property("a", ""), nil},
		{"empty element", "<property><name>a</name><value/></property>", nil},
		{"no value", "<property><name>a</name></property>", nil},
		{"empty value overrides nothing", property("a", "1") + property("a", ""), map[string]string{"a": "1"}},
		{"names are trimmed, values aren't", property(" a ", " b "), map[string]string{"a": " b "}},
		{"last wins", property("a", "1") + property("a", "2"), map[string]string{"a": "2"}},
		{"final", "<property><name>a</name><value>1</value><final>true</final></property>" + property("a", "2"), map[string]string{"a": "1"}},
		{"final is not trimmed", "<property><name>a</name><value>1</value><final> true </final></property>" + property("a", "2"), map[string]string{"a": "2"}},
		{"final without a value", "<property><name>b</name><final>true</final></property>" + property("b", "2"), nil},
		{"attributes", "<property name='a' value='1' final='true'/>" + property("a", "2"), map[string]string{"a": "1"}},
		{"CDATA", property("a", "<![CDATA[x<y]]>z"), map[string]string{"a": "x<yz"}},
		{"comment within", property("a", "x<!-- c -->y"), map[string]string{"a": "xy"}},
		{"element within", property("a", "x<b>q</b>y"), map[string]string{"a": "xqy"}},
		{"entities of XML", property("a", "&lt;&amp;&#65;&#x42;"), map[string]string{"a": "<&AB"}},
		{"configuration within", "<configuration>" + property("a", "1") + "</configuration>", map[string]string{"a": "1"}},
		{"unknown element around", "<foo>" + property("a", "1") + "</foo>", map[string]string{"a": "1"}},
		{"no name", "<property><value>1</value></property>" + property("b", "2"), map[string]string{"b": "2"}},
		{"two names and values", "<property><name>a</name><name>b</name><value>1</value><value>2</value></property>", map[string]string{"b": "2"}},
		{"deprecated", property("fs.default.name", "hdfs://x"), map[string]string{"fs.defaultFS": "hdfs://x"}},
		{"deprecated after", property("fs.defaultFS", "hdfs://y") + property("fs.default.name", "hdfs://x"), map[string]string{"fs.defaultFS": "hdfs://x"}},
		{"deprecated before", property("fs.default.name", "hdfs://x") + property("fs.defaultFS", "hdfs://y"), map[string]string{"fs.defaultFS": "hdfs://y"}},
		{"io.sort.mb", property("io.sort.mb", "5"), map[string]string{"mapreduce.task.io.sort.mb": "5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == nil {
				want = map[string]string{}
			}
			if diff := cmp.Diff(want, rawOf(t, configuration(c.text))); diff != "" {
				t.Errorf("want − got +:\n%s", diff)
			}
		})
	}
}

func TestWholeFiles(t *testing.T) {
	a := property("a", "1")
	for name, text := range map[string]string{
		"byte order mark": "\xef\xbb\xbf" + configuration(a),
		"doctype":         "<!DOCTYPE configuration>\n<configuration>" + a + "</configuration>",
		"ASCII":           "<?xml version='1.0' encoding='US-ASCII'?><configuration>" + a + "</configuration>",
		"UTF-8":           "<?xml version='1.0' encoding='utf-8'?><configuration>" + a + "</configuration>",
		"stylesheet":      "<?xml version='1.0'?><?xml-stylesheet type='text/xsl' href='configuration.xsl'?><!-- c --><configuration>" + a + "</configuration><!-- d -->",
	} {
		if got := rawOf(t, text); got["a"] != "1" {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestUnacceptableFiles(t *testing.T) {
	deep := strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100)
	for _, c := range []struct {
		name, text string
		line       int
		reason     string
	}{
		{"empty", "", 0, "no XML element"},
		{"blank", "\n \n", 0, "no XML element"},
		{"another root", "\n<allocations/>", 2, "<allocations>"},
		{"two roots", "<configuration/>\n<configuration/>", 2, "one outermost element"},
		{"text", "<configuration/>\nx", 1, "text outside"},
		{"not closed", "<configuration>\n<property>\n", 3, "not well-formed"},
		{"crossed", "<configuration>\n<property>\n</configuration>", 3, "not well-formed"},
		{"bare ampersand", "<configuration>\n\n" + property("a", "x&y"), 3, "&amp;"},
		{"unknown entity", "<configuration>" + property("a", "&e;") + "</configuration>", 1, "&e;"},
		{"entity", "\n<!DOCTYPE c [<!ENTITY e 'zz'>]>\n<configuration/>", 2, "entities"},
		{"lower case entity", "<!DOCTYPE c [<!entity e 'zz'>]>\n<configuration/>", 1, "entities"},
		{"external entity", "<!DOCTYPE c [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><configuration/>", 1, "entities"},
		{"Latin 1 by name", "<?xml version='1.0' encoding='ISO-8859-1'?><configuration/>", 1, "ISO-8859-1"},
		{"Latin 1 in fact", "<configuration>\n" + property("a", "\xe4"), 2, "UTF-8"},
		{"UTF-16 with mark", "\xff\xfe<\x00c\x00", 1, "UTF-16"},
		{"UTF-16 without mark", "\x00<\x00c", 1, "UTF-16"},
		{"XML 1.1", "<?xml version='1.1'?><configuration/>", 1, "1.1"},
		{"too deep", "<configuration>" + deep + "</configuration>", 1, "nested"},
		{"NUL", "<configuration>\x00</configuration>", 1, "not well-formed"},
		{"include outermost", "<include href='x'/>", 1, "include"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(write(t, "x.xml", c.text), "x.xml")
			_, err := LoadFile(path)
			var se *SyntaxError
			if !errors.As(err, &se) {
				t.Fatalf("got %v, want a SyntaxError", err)
			}
			if se.Source.File != path || se.Source.Line != c.line || !strings.Contains(se.Reason, c.reason) {
				t.Errorf("got %v; want line %d and %q", err, c.line, c.reason)
			}
		})
	}
}

func TestHugeFilesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"bytes":    configuration("<!--", strings.Repeat("x", 8<<20), "-->"),
		"elements": configuration(strings.Repeat("<a/>", 400_000)),
	} {
		dir := write(t, "x.xml", text)
		if _, err := LoadFile(filepath.Join(dir, "x.xml")); err == nil {
			t.Errorf("%s: was read", name)
		}
	}
	if _, err := LoadFile(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a folder: got %v", err)
	}
	if _, err := LoadFile(filepath.Join(t.TempDir(), "nope.xml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
}

const includeNS = `xmlns:xi="http://www.w3.org/2001/XInclude"`

func include(href, fallback string) string {
	return `<xi:include ` + includeNS + ` href="` + href + `">` + fallback + `</xi:include>` + "\n"
}

func TestIncludes(t *testing.T) {
	fallback := "<xi:fallback>" + property("f", "fallback") + "</xi:fallback>"
	dir := write(t,
		"x.xml", configuration(
			property("a", "x"), property("b", "x"),
			include("sub/y.xml", fallback),
			property("a", "last"),
			include("nope.xml", fallback),
			include("alsonope.xml", "<xi:fallback/>"),
			include("nope.xml", "<xi:fallback>"+include("sub/z.xml", "")+"</xi:fallback>"),
		),
		"sub/y.xml", configuration(property("a", "y"), property("b", "y"), include("z.xml", ""), include("../w.xml", "")),
		"sub/z.xml", configuration(property("z", "z")),
		"w.xml", configuration(property("w", "w")),
	)
	p, err := LoadFile(filepath.Join(dir, "x.xml"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for prop := range p.All() {
		rel, _ := filepath.Rel(dir, prop.Source.File)
		got[prop.Name] = prop.Value + " " + rel
	}
	want := map[string]string{"a": "last x.xml", "b": "y sub/y.xml", "z": "z sub/z.xml", "w": "w w.xml", "f": "fallback x.xml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want − got +:\n%s", diff)
	}
	if b, _ := p.Get("b"); b.Source.Line != 4 {
		t.Errorf("b was found at %v, not in the included file's line 4", b.Source)
	}
}

func TestIncludeByURLAndAbsolutePath(t *testing.T) {
	dir := write(t, "y.xml", configuration(property("y", "1")), "z.xml", configuration(property("z", "1")))
	got := rawOf(t, configuration(include(filepath.Join(dir, "y.xml"), ""), include("file://"+filepath.Join(dir, "z.xml"), "")))
	if diff := cmp.Diff(map[string]string{"y": "1", "z": "1"}, got); diff != "" {
		t.Errorf("want − got +:\n%s", diff)
	}
}

func TestUnacceptableIncludes(t *testing.T) {
	for _, c := range []struct{ name, href, reason string }{
		{"itself", "x.xml", "includes itself"},
		{"a loop", "loop.xml", "x.xml → "},
		{"no name", "", "href"},
		{"the web", "http://localhost/y.xml", "only files"},
		{"nothing there", "nope.xml", "does not exist"},
		{"something broken", "broken.xml", "broken.xml:1"},
		{"something that includes nothing there", "dangling.xml", "dangling.xml:3"},
		{"something very deep", "deep0.xml", "deep"},
		{"a folder", ".", "not a file"},
		{"a device", "/dev/zero", "not a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := []string{
				"x.xml", configuration(include(c.href, "")),
				"loop.xml", configuration(include("x.xml", "")),
				"broken.xml", "<configuration>",
				"dangling.xml", configuration(include("nope.xml", "")),
			}
			for i := range 20 {
				files = append(files, "deep"+string(rune('0'+i))+".xml", configuration(include("deep"+string(rune('1'+i))+".xml", "")))
			}
			_, err := LoadFile(filepath.Join(write(t, files...), "x.xml"))
			if err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v, want %q", err, c.reason)
			}
		})
	}
}

// Files that each include the next one twice would be read 2^n times.
func TestIncludeBomb(t *testing.T) {
	var files []string
	for i := range 15 {
		next := include("f"+string(rune('b'+i))+".xml", "")
		files = append(files, "f"+string(rune('a'+i))+".xml", configuration(next, next))
	}
	files = append(files, "fp.xml", configuration(property("a", "1")))
	if _, err := LoadFile(filepath.Join(write(t, files...), "fa.xml")); err == nil || !strings.Contains(err.Error(), "included") {
		t.Errorf("got %v", err)
	}
}

func TestReadXMLGivesOtherTrees(t *testing.T) {
	root, err := ParseXML("fair-scheduler.xml", []byte("<allocations>\n<queue name='a'>\n<weight> 2 </weight></queue></allocations>"))
	if err != nil {
		t.Fatal(err)
	}
	queue := root.Children[0]
	if root.Name != "allocations" || queue.Attrs["name"] != "a" || queue.Children[0].Text() != " 2 " || queue.Children[0].Source.Line != 3 {
		t.Errorf("got %+v", queue)
	}
}

func FuzzParseXML(f *testing.F) {
	for _, s := range []string{
		configuration(property("a", "1")),
		configuration(include("x.xml", "<xi:fallback>"+property("a", "1")+"</xi:fallback>")),
		"<!DOCTYPE c [<!ENTITY e 'zz'>]><configuration>&e;</configuration>",
		"\xff\xfe<", "<configuration>a<b/>c<!--d-->e<![CDATA[f]]></configuration>",
		"<property name='a' value='b' final='true'/>",
		"<?xml version='1.0' encoding='latin1'?><configuration/>",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir() // stays empty: nothing is there to be included
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := ParseXML(filepath.Join(dir, "fuzz.xml"), data)
		if err != nil {
			return
		}
		p := newProperties()
		if p.addTree(root) != nil {
			return
		}
		for prop := range p.All() {
			if prop.Name == "" || prop.Value == "" || prop.Source.Line < 1 {
				t.Fatalf("%+v from %q", prop, data)
			}
		}
		c := &Config{props: p, getenv: func(string) (string, bool) { return "", false }}
		for s := range c.Settings() {
			if len(s.Value) > maxExpandSize {
				t.Fatalf("%s expands to %d bytes", s.Key, len(s.Value))
			}
		}
		c.Validate()
	})
}
