package javahost

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"heddle/nm/nmtest"
	"heddle/yarn/records"
)

func TestReplies(t *testing.T) {
	var m message
	m.integer(5).octet(0).integer(2).text("a").bytes(nil).text("b").bytes([]byte{1, 2})
	b, err := decodeReply(m.b, 5)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeStarted(b)
	if want := map[string][]byte{"a": nil, "b": {1, 2}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	var refused *Refused
	if _, err := decodeReply(new(message).integer(5).octet(1).text("no").b, 5); !errors.As(err, &refused) || refused.Text != "no" {
		t.Error(err)
	}
	if _, err := decodeReply(m.b, 6); err == nil || errors.As(err, &refused) {
		t.Error("a reply to another request was taken")
	}
}

func TestMessagesAreBounded(t *testing.T) {
	if _, err := readReply(bytes.NewReader([]byte{0x7f, 0xff, 0xff, 0xff})); err == nil || !strings.Contains(err.Error(), "are allowed") {
		t.Error(err)
	}
	var out bytes.Buffer
	var refused *Refused
	if err := writeRequest(&out, 1, opApplicationInit, make([]byte, maxRequest)); !errors.As(err, &refused) || out.Len() > 0 {
		t.Error(err, out.Len())
	}
}

func TestDataOfApplicationsIsBounded(t *testing.T) {
	h, err := New(Config{Dir: t.TempDir(), Bucket: &bucket{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var refused *Refused
	if err := h.StartApplication(t.Context(), "recorder", app, "ann", make([]byte, maxData+1)); !errors.As(err, &refused) || len(h.ledger.apps) > 0 {
		t.Errorf("%v, %d applications are known", err, len(h.ledger.apps))
	}
}

func FuzzReply(f *testing.F) {
	f.Add(new(message).integer(1).octet(0).integer(1).text("spark_shuffle").bytes(nil).b)
	f.Add(new(message).integer(1).octet(1).text("java.io.IOException: x").b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if body, err := readReply(bytes.NewReader(b)); err == nil && len(body) > maxReply {
			t.Fatal(len(body))
		}
		rest, err := decodeReply(b, 1)
		if err != nil {
			return
		}
		if got, err := decodeStarted(rest); err == nil && len(got) > maxServices {
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
