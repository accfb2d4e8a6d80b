package javaio

import (
	"encoding/hex"
	"os"
	"reflect"
	"strings"
	"testing"
)

// stream is what ObjectOutputStream writes of: an Object[] of a String, itself, null, Integer 7, a double[], an ArrayList of the
// same String and Long -1, a LinkedHashMap, an enumeration constant, Boolean true, a Character and a Class.
func stream(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/objects.hex")
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecode(t *testing.T) {
	v, err := Decode(stream(t))
	if err != nil {
		t.Fatal(err)
	}
	all, ok := v.([]any)
	if !ok || len(all) != 11 {
		t.Fatalf("got %#v", v)
	}
	if all[0] != "zero\x00, 😀" || all[1] != all[0] || all[2] != nil {
		t.Errorf("strings %q, %q, %v", all[0], all[1], all[2])
	}
	if o, ok := all[3].(*Object); !ok || o.Class != "java.lang.Integer" || o.Fields["value"] != int64(7) {
		t.Errorf("Integer: %#v", all[3])
	}
	if !reflect.DeepEqual(all[4], []any{1.5, -2.0}) {
		t.Errorf("double[]: %#v", all[4])
	}
	list, ok := List(all[5])
	if !ok || len(list) != 2 || list[0] != all[0] || list[1].(*Object).Fields["value"] != int64(-1) {
		t.Errorf("ArrayList: %#v", list)
	}
	pairs, ok := Pairs(all[6])
	if !ok || !reflect.DeepEqual(pairs, [][2]any{{"a", "1"}, {"b", "2"}}) {
		t.Errorf("LinkedHashMap: %#v", pairs)
	}
	if all[7] != (Enum{"java.util.concurrent.TimeUnit", "SECONDS"}) {
		t.Errorf("enum: %#v", all[7])
	}
	if all[8].(*Object).Fields["value"] != true || all[9].(*Object).Fields["value"] != int64('x') || all[10] != Class("java.lang.String") {
		t.Errorf("others: %#v, %#v, %#v", all[8], all[9], all[10])
	}
}

func TestDecodeErrors(t *testing.T) {
	good := stream(t)
	for n := range good {
		if v, err := Decode(good[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are %#v", n, len(good), v)
		}
		bad := append([]byte{}, good...)
		bad[n] ^= 0xff
		_, _ = Decode(bad)
	}
	head := "aced0005"
	for name, h := range map[string]string{
		"nothing":        "",
		"no reference":   "71007e0000",
		"own superclass": "73" + "72000141" + "0000000000000000" + "020000" + "78" + "71007e0000",
		"huge array":     "75" + "7200025b49" + "0000000000000000" + "020000" + "7870" + "7fffffff",
		"huge string":    "7cffffffffffffffff",
		"nesting":        strings.Repeat("75"+"7200025b4c"+"0000000000000000"+"020000"+"7870"+"00000001", 300),
		"proxy":          "737d",
	} {
		b, err := hex.DecodeString(head + h)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := Decode(b); err == nil {
			t.Errorf("%s: %#v", name, v)
		}
	}
	if _, ok := List("no list"); ok {
		t.Error("a string is no list")
	}
	if _, ok := Pairs(&Object{Data: []any{"odd"}}); ok {
		t.Error("an odd number of elements is no map")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(stream(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data)
		if err == nil {
			List(v)
			Pairs(v)
		}
	})
}
