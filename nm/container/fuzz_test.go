package container

import (
	"io"
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

// Whatever lies in the store, it is read or refused, and what was read once is written and read the same.
func FuzzRecoveredState(f *testing.F) {
	j := job{id: containerID(1, 1), user: "ann", memory: 256, command: "true"}
	id := j.id.String()
	written := pairs{}
	m := NewManager(Options{Log: silent(), ContainerRecords: written})
	c := m.newContainer(j.grant(0), j.context())
	c.token = j.token(0)
	if err := c.saveRequest(); err != nil {
		f.Fatal(err)
	}
	f.Add(id, written[id+requestKey], written[id+recordKey], appID(1).String(),
		[]byte(`{"user":"ann","acls":{"1":"*"},"tokens":"SERUUw==","logContext":"CgF4"}`))
	f.Add(id, []byte("\xff\xff"), []byte("{"), "application_1_1", []byte("null"))
	f.Add("nonsense", []byte{}, []byte(`{"kill":{},"boot":"x","keeper":{"pid":-1,"start":1},"places":{"logs":["/"]}}`), "x", []byte("{}"))
	f.Add(id, []byte{}, []byte("null"), appID(1).String(), []byte(`{"acls":{"-5":"x"},"logContext":"AAAA"}`))
	f.Fuzz(func(t *testing.T, name string, request, recorded []byte, appName string, app []byte) {
		b := pairs{name + requestKey: request, name + recordKey: recorded}
		m := NewManager(Options{ContainerRecords: b, AppRecords: pairs{appName: app}, Log: silent()})
		defer m.Close()
		all, err := m.load()
		if err == nil {
			for _, l := range all {
				c := m.newContainer(l.grant, l.context)
				c.token, c.record = l.token, l.record
				if err := c.saveRequest(); err != nil {
					t.Fatal(err)
				}
				again, err := m.load()
				if err != nil || len(again) != 1 || again[0].grant.ID != l.grant.ID || again[0].record.ExitCode != l.record.ExitCode {
					t.Errorf("read %+v, and then %+v, %v", l.record, again, err)
				}
				if l.grant.ID.String() != name {
					t.Errorf("the record of %q is that of %s", name, l.grant.ID)
				}
			}
		}
		if m.apps.Recover() == nil && m.apps.Len() != len(m.Applications()) {
			t.Errorf("%d applications, and %v", m.apps.Len(), m.Applications())
		}
	})
}

func silent() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}
