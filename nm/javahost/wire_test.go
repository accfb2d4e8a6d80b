package javahost

import (
	"errors"
	"reflect"
	"testing"

	"heddle/hdfsadapter/jvm"
	"heddle/nm/nmtest"
	"heddle/yarn/records"
)

func TestStarted(t *testing.T) {
	var m jvm.Message
	m.Integer(2).Text("a").Bytes(nil).Text("b").Bytes([]byte{1, 2})
	got, err := decodeStarted(m.B)
	if want := map[string][]byte{"a": nil, "b": {1, 2}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestDataOfApplicationsIsBounded(t *testing.T) {
	h, err := New(Config{Config: jvm.Config{Dir: t.TempDir()}, Bucket: &bucket{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var refused *jvm.Refused
	if err := h.StartApplication(t.Context(), "recorder", app, "ann", make([]byte, maxData+1)); !errors.As(err, &refused) || len(h.ledger.apps) > 0 {
		t.Errorf("%v, %d applications are known", err, len(h.ledger.apps))
	}
}

func FuzzStarted(f *testing.F) {
	var m jvm.Message
	f.Add(m.Integer(1).Text("spark_shuffle").Bytes(nil).B)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := decodeStarted(b); err == nil && len(got) > maxServices {
			t.Fatal(len(got))
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add("application_1700000000000_0007", []byte(`{"user":"ann","data":{"spark_shuffle":"c2VjcmV0"}}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		if _, app, err := decodeRecord(key, value); err == nil && app == nil {
			t.Fatal("no application")
		}
	})
}

// A damaged record is removed, and the others are there.
func TestDamagedRecords(t *testing.T) {
	b := &bucket{}
	for key, value := range map[string]string{"application_1700000000000_0007": `{"user":"ann"}`, "application_x": "{}", "application_1700000000000_0008": "{"} {
		if err := b.Put(key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	lost := 0
	l, err := load(b, records.ResourceTypes{}, func(error) { lost++ })
	if err != nil || len(l.apps) != 1 || l.apps[app].User != "ann" || lost != 2 {
		t.Errorf("%v, %v, %d", l.apps, err, lost)
	}
	left := 0
	if err := b.ForEach("", func(string, []byte) error { left++; return nil }); err != nil || left != 1 {
		t.Error(left, err)
	}
}

var (
	_ Bucket = (*bucket)(nil)
	_ Dirs   = nmtest.Dirs(nil)
)
