package auxservices

import (
	"reflect"
	"strings"
	"testing"

	"heddle/nm/javahost"
)

func TestDecode(t *testing.T) {
	got, err := Decode([]byte(`{"services":[{"name":"a","version":1.5,"launch_time":3,"configuration":{"properties":{"class.name":"x.Y","n":5,"t":true,"none":null},
		"files":[{"type":"ARCHIVE","src_file":"hdfs:///a.zip"}]}},{"name":"b"}],"other":{}}`))
	version := "1.5"
	want := []Record{
		{Name: "a", Version: &version, Properties: map[string]string{"class.name": "x.Y", "n": "5", "t": "true"}, Files: []javahost.File{{Source: "hdfs:///a.zip", Type: "ARCHIVE"}}},
		{Name: "b", Properties: map[string]string{}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got[0].same(&got[1]) || !got[0].same(&Record{Name: "a", Version: &version}) || got[0].same(&Record{Name: "a"}) {
		t.Error("name and version together are what a service is")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"services":[{"name":"a","version":"1","configuration":{"properties":{"class.name":"x.Y"},"files":[{"type":"STATIC","src_file":"/a.jar"}]}}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := Decode(b)
		if err != nil {
			return
		}
		if len(list) > maxServices {
			t.Fatal(len(list))
		}
		for _, r := range list {
			if r.check() == nil && (r.Name == "" || strings.ContainsAny(r.Name+r.Properties[classProperty], "/\x00")) {
				t.Fatalf("%+v", r)
			}
		}
	})
}
