package recordings_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/rm/recording"
	"heddle/rm/rest/recordings"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/eventlog/eventlogtest"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

func ask(s *recordings.Service, path string) (status int, body string) {
	api := yarnrest.NewAPI(nil)
	s.Route(api, "/ws/v1/heddle")
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", "/ws/v1/heddle"+path, nil))
	return w.Code, w.Body.String()
}

func metrics(t *testing.T, s *recordings.Service) map[string]float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(s)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		all[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
	}
	return all
}

// Administrators get what has been recorded until now; everybody sees how recording goes, also when the disk fails.
func TestRecordsOverREST(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Set("heddle.record.dir", dir)
	log := logrus.New()
	log.SetOutput(io.Discard)
	r, err := recording.Open(c, "", "rm1", logrus.NewEntry(log))
	if err != nil {
		t.Fatal(err)
	}
	w, source := r.Leads()
	slot := records.NewResource(1024, 1)
	d, err := eventlog.New(scheduler.Config{Minimum: slot}, w, source, eventlog.Header{Heddle: "test", Time: 1})
	if err != nil {
		t.Fatal(err)
	}
	eventlogtest.AddNode(d, scheduler.NodeSpec{Host: "h1", Rack: "/r", Capability: slot})
	admin := true
	s := &recordings.Service{Recording: r, Admin: func(*yarnrest.Call) bool { return admin }}
	status, body := ask(s, "/record/events?max-mb=1")
	if status != 200 || !strings.HasPrefix(body, fmt.Sprintf(`{"heddle-events":%d,`, eventlog.Version)) || !strings.Contains(body, `"host":"h1"`) {
		t.Errorf("%d %s", status, body)
	}
	for path, want := range map[string]int{"/record/events?max-mb=x": 400, "/record/events?max-mb=0": 400, "/record/events?max-mb=99999": 400, "/record": 200} {
		if status, body := ask(s, path); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, body := ask(s, "/record"); !strings.Contains(body, `"recording":true`) || !strings.Contains(body, dir) {
		t.Error(body)
	}
	if m := metrics(t, s); m["heddle_rm_record_failing"] != 0 || m["heddle_rm_record_bytes_total"] == 0 {
		t.Errorf("%v", m)
	}
	admin = false
	if status, _ := ask(s, "/record/events"); status != 403 {
		t.Errorf("another user gets %d", status)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if status, body := ask(&recordings.Service{Admin: func(*yarnrest.Call) bool { return true }}, "/record/events"); status != 404 || !strings.Contains(body, "heddle.record.dir") {
		t.Errorf("without a record: %d %s", status, body)
	}
	if _, body := ask(&recordings.Service{}, "/record"); !strings.Contains(body, `"recording":false`) {
		t.Error(body)
	}
}

// A record that can't be written is named in the log, at REST and in /metrics.
func TestRecordsThatFail(t *testing.T) {
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	said := make(chan string, 10)
	log.AddHook(hook{said})
	log.SetOutput(io.Discard)
	dir := filepath.Join(t.TempDir(), "records")
	c.Set("heddle.record.dir", dir)
	r, err := recording.Open(c, "", "rm1", logrus.NewEntry(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil { // no file can be made
		t.Fatal(err)
	}
	if _, err := eventlog.New(scheduler.Config{}, r.Writer, r.Source, eventlog.Header{Time: 1}); err != nil {
		t.Fatal(err)
	}
	if text := <-said; !strings.Contains(text, "not recorded") {
		t.Error(text)
	}
	s := &recordings.Service{Recording: r}
	if _, body := ask(s, "/record"); !strings.Contains(body, "no such file") || !strings.Contains(body, `"recording":false`) {
		t.Error(body)
	}
	if m := metrics(t, s); m["heddle_rm_record_failing"] != 1 || m["heddle_rm_record_gaps_total"] != 1 {
		t.Errorf("%v", m)
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

type hook struct{ said chan string }

func (hook) Levels() []logrus.Level { return logrus.AllLevels }

func (h hook) Fire(e *logrus.Entry) error {
	h.said <- e.Message
	return nil
}
