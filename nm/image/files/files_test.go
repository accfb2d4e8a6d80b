package files

import (
	"testing"

	"heddle/nm/localizer"
)

func TestLocate(t *testing.T) {
	for uri, want := range map[string]localizer.Location{
		"/runc-root":             {Path: "/runc-root"},
		"hdfs:///user/a/b":       {Scheme: "hdfs", Path: "/user/a/b"},
		"hdfs://nn:8020/x":       {Scheme: "hdfs", Host: "nn", Port: 8020, Path: "/x"},
		"s3a://user@bucket/x":    {Scheme: "s3a", UserInfo: "user", Host: "bucket", Path: "/x"},
		"relative":               {},
		"":                       {},
		"hdfs://nn:99999999999/": {},
		"a\x00b":                 {},
	} {
		at, err := Locate(uri)
		if (err == nil) != (want != localizer.Location{}) || err == nil && at != want {
			t.Errorf("%q: %+v, %v", uri, at, err)
		}
	}
}
