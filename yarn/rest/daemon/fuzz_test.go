package daemon

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzJMX: whatever a query of /jmx asks for, it is answered with a JSON object, of beans that there are.
func FuzzJMX(f *testing.F) {
	for _, q := range [][2]string{
		{"qry", ""},
		{"qry", "*:*"},
		{"qry", "Hadoop:*"},
		{"qry", "Hadoop:service=RM,name=*"},
		{"qry", "java.lang:type=?emory"},
		{"qry", "a:b=c,b=d"},
		{"qry", "Hadoop:name=M,service=RM,*"},
		{"qry", strings.Repeat("*", 50) + ":*"},
		{"qry", ":="},
		{"qry", "\xff:*"},
		{"qry", "*:*,*"},
		{"get", "Hadoop:service=RM,name=M::Count"},
		{"get", "*:*::\"\\\u2028"},
		{"get", "::"},
		{"get", "a::b::c"},
		{"get", "*:*::\xff"},
	} {
		f.Add(q[0], q[1])
	}
	beans := []Bean{
		{"Hadoop:service=RM,name=M", "M", []Attr{{"Count", 1}, {"Share", 0.5}, {"Text", "a\"b\\"}, {"List", []string{}}, {"Map", map[string]any{"a": []int{1}}}}},
		{"java.lang:type=Memory", "sun.Memory", nil},
	}
	h := JMX(func() []Bean { return beans })
	f.Fuzz(func(t *testing.T, key, value string) {
		r := httptest.NewRequest("GET", "/jmx?"+url.Values{key: {value}}.Encode(), nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var answer struct {
			Beans  []map[string]any
			Result string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
			t.Fatalf("%q=%q: %d, %v: %s", key, value, w.Code, err, w.Body)
		}
		if len(answer.Beans) > len(beans) {
			t.Errorf("%q=%q: %d beans", key, value, len(answer.Beans))
		}
		for _, b := range answer.Beans {
			if b["name"] != beans[0].Name && b["name"] != beans[1].Name {
				t.Errorf("%q=%q: a bean %v", key, value, b["name"])
			}
		}
		if key != "get" && key != "qry" && len(answer.Beans) != len(beans) {
			t.Errorf("without a pattern: %s", w.Body)
		}
	})
}
