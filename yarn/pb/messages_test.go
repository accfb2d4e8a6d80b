package pb_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "heddle/yarn/pb"
)

// javaName turns hadoop.yarn.FooProto into heddle.yarn.Foo.
func javaName(s string) protoreflect.FullName {
	parts := strings.Split(s, ".")
	if len(parts) < 3 || parts[0] != "hadoop" {
		return protoreflect.FullName(s)
	}
	for i := range parts {
		parts[i] = strings.TrimSuffix(parts[i], "Proto")
	}
	return protoreflect.FullName("heddle.yarn." + strings.Join(parts[2:], "."))
}

// ourPrefix is what the values of an enum have in front here: the values of all of a package's enums share one scope.
var ourPrefix = map[protoreflect.FullName]string{
	"heddle.yarn.DecommissionType": "DECOMMISSION_",
	"heddle.yarn.CipherSuite":      "CIPHER_SUITE_",
	"heddle.yarn.Status":           "STATUS_",
	"heddle.yarn.StorageType":      "STORAGE_",
}

// leftOut are fields that nothing here needs.
var leftOut = map[string]bool{
	"heddle.yarn.BlockOpResponse.checksumResponse": true,
	"heddle.yarn.LocatedBlocks.fileEncryptionInfo": true,
	"heddle.yarn.LocatedBlocks.ecPolicy":           true,
	"heddle.yarn.HdfsFileStatus.ecPolicy":          true, // flags say whether there is one
}

// describe writes a field as a row of messages.tsv has it: label, type, default, packed.
func describe(f protoreflect.FieldDescriptor) string {
	kind := f.Kind().String()
	if f.Enum() != nil {
		kind = string(f.Enum().FullName())
	} else if f.Message() != nil {
		kind = string(f.Message().FullName())
	}
	def, packed := "", ""
	if f.HasDefault() {
		switch {
		case f.Kind() == protoreflect.StringKind:
			def = fmt.Sprintf("%q", f.Default().String())
		case f.Enum() != nil:
			def = strings.TrimPrefix(string(f.DefaultEnumValue().Name()), ourPrefix[f.Enum().FullName()])
		default:
			def = f.Default().String()
		}
	}
	if f.IsPacked() {
		packed = "packed"
	}
	return fmt.Sprintf("%s %s %s %s", f.Cardinality(), kind, def, packed)
}

// The descriptors read from Hadoop 3.4.2's jars are the truth: every message and enum of theirs that we have must have
// the same fields, and no others below 20000, where Heddle's begin.
func TestDescriptorsEqualHadoops(t *testing.T) {
	file, err := os.Open("testdata/messages.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fields := map[protoreflect.FullName]int{}
	in := bufio.NewScanner(file)
	for first := true; in.Scan(); first = false {
		r := strings.Split(in.Text(), "\t")
		if first || len(r) != 9 {
			continue
		}
		name := javaName(r[2])
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, ok := fields[name]; !ok {
			fields[name] = 0
		}
		if r[3] == "" || leftOut[string(name)+"."+r[3]] {
			continue
		}
		fields[name]++
		if e, ok := d.(protoreflect.EnumDescriptor); ok {
			v := e.Values().ByName(protoreflect.Name(ourPrefix[name] + r[3]))
			if v == nil || fmt.Sprint(v.Number()) != r[4] {
				t.Errorf("%s.%s: got %v, want %s", name, r[3], v, r[4])
			}
			continue
		}
		f := d.(protoreflect.MessageDescriptor).Fields().ByName(protoreflect.Name(r[3]))
		if f == nil {
			t.Errorf("%s has no field %s", name, r[3])
			continue
		}
		want := fmt.Sprintf("%s %s %s %s", r[5], javaName(r[6]), r[7], r[8])
		if got := describe(f); got != want || fmt.Sprint(f.Number()) != r[4] {
			t.Errorf("%s.%s: got %d %s, want %s %s", name, r[3], f.Number(), got, r[4], want)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	if len(fields) < 300 {
		t.Errorf("only %d messages and enums were compared", len(fields))
	}
	for name, n := range fields {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		if err != nil {
			continue
		}
		switch d := d.(type) {
		case protoreflect.EnumDescriptor:
			if d.Values().Len() != n {
				t.Errorf("%s has %d values, want %d", name, d.Values().Len(), n)
			}
		case protoreflect.MessageDescriptor:
			ours := 0
			for i := range d.Fields().Len() {
				if d.Fields().Get(i).Number() >= 20000 {
					ours++
				}
			}
			if d.Fields().Len()-ours != n {
				t.Errorf("%s has %d fields, want %d", name, d.Fields().Len()-ours, n)
			}
		}
	}
}
