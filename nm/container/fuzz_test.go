package container

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

// pairs is a Bucket that has these.
type pairs map[string][]byte

func (p pairs) Begin(key string, value []byte) <-chan error {
	p[key] = value
	return outcome(nil)
}

func (p pairs) BeginAll(values map[string][]byte) <-chan error {
	maps.Copy(p, values)
	return outcome(nil)
}

func (p pairs) BeginDelete(key string) <-chan error {
	delete(p, key)
	return outcome(nil)
}

func (p pairs) Delete(key string) error { return <-p.BeginDelete(key) }

func (p pairs) ForEach(prefix string, f func(string, []byte) error) error {
	var keys []string
	for k := range p {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if err := f(k, p[k]); err != nil {
			return err
		}
	}
	return nil
}

// Whatever lies in the store, it concerns its application alone: what makes no sense is removed, and the rest recovered.
func FuzzRecoveredApplications(f *testing.F) {
	id := appID(1).String()
	f.Add(id, []byte(`{"user":"ann","acls":{"1":"*"},"tokens":"SERUUw==","logContext":"CgF4"}`))
	f.Add("application_1_1", []byte("null"))
	f.Add("x", []byte("{}"))
	f.Add(id, []byte("{"))
	f.Add(id, []byte(`{"acls":{"-5":"x"},"logContext":"AAAA"}`))
	f.Fuzz(func(t *testing.T, name string, app []byte) {
		b := pairs{name: app, appID(2).String(): []byte(`{"user":"bob"}`)}
		m := NewManager(Options{ContainerRecords: pairs{}, AppRecords: b, Log: silent()})
		defer m.Close()
		if err := m.apps.Recover(); err != nil {
			t.Fatal(err)
		}
		if n := m.apps.Len(); n != len(m.Applications()) || n != len(b) {
			t.Errorf("%d applications, %v, of %d records", n, m.Applications(), len(b))
		}
		if a, ok := m.Application(appID(2)); !ok || a.User != "bob" && name != appID(2).String() {
			t.Errorf("the other application: %+v, %v", a, ok)
		}
	})
}

func silent() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}
