package timelineservice

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter/jvm"
	"heddle/hdfsadapter/jvm/ondemand"
	"heddle/integration/jvmtest"
	"heddle/internal/await"
	"heddle/internal/output"
	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/rm/timelineservice/writer"
	"heddle/rm/view"
	"heddle/yarn/flow"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// stored returns the settings of a publisher to version 2 whose storage is files below a folder.
func stored(t *testing.T, folder string, l *output.Buffer) ondemand.Daemon {
	t.Helper()
	log := logrus.New()
	log.SetOutput(l)
	return ondemand.Daemon{
		Properties: []string{
			"yarn.timeline-service.enabled", "true", "yarn.timeline-service.versions", "2.0f", "yarn.timeline-service.fs-writer.root-dir", "file://" + folder,
			"yarn.timeline-service.writer.class", "org.apache.hadoop.yarn.server.timelineservice.storage.FileSystemTimelineWriterImpl",
		},
		JVM: func() (jvm.Config, error) {
			return jvm.Config{
				Java: jvmtest.Java(t), JavaVersion: 17, JavaOptions: jvmtest.Options, HeapMB: 128, ClassPath: filepath.Join(jvmtest.Hadoop(t), "*"), Env: os.Environ(),
				Confine: func(int) error { return nil }, Sweep: func() {}, Log: logrus.NewEntry(log),
			}, nil
		},
	}
}

// Entities of version 2 are written by Hadoop's collector where its readers look for them: also after a kill -9 of the JVM.
func TestVersion2IsStored(t *testing.T) {
	folder, said := t.TempDir(), &output.Buffer{}
	w := writer.New(stored(t, folder, said))
	id := records.ApplicationID{ClusterTimestamp: 1700000000000, ID: 7}
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationName("nightly")
	ctx.SetApplicationTags([]string{"timeline_flow_version_tag:3"})
	s := ledger.New()
	s.Apps[id] = &ledger.Application{ID: id, User: "alice", Context: ctx, SubmitTime: 5}
	p := second(&Settings{v2: true}, &view.Viewer{}, w, logrus.NewEntry(logrus.New()))
	p.start()
	t.Cleanup(p.Close)
	has := func(what string) bool {
		b, _ := os.ReadFile(filepath.Join(folder, "entities/yarn_cluster/alice/nightly/3/5", id.String(), appType, id.String()+".thist"))
		return bytes.Contains(b, []byte(what))
	}
	p.add([]entity{ofApp(id).at(6, "YARN_APPLICATION_LAUNCHED", nil), ofContainer(records.ContainerID{}).at(6, "YARN_CONTAINER_CREATED", nil)}, s)
	await.Slowly(t, "it is stored", func() bool { return has("YARN_APPLICATION_LAUNCHED") })
	first := w.PID()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.add([]entity{state(id, 7, "RUNNING")}, s)
	s.Apps[id].State = ledger.AppFinished
	p.add([]entity{ended(s.Apps[id])}, s)
	await.Slowly(t, "it is stored by another JVM", func() bool { return has("YARN_APPLICATION_FINISHED") })
	if !has("YARN_APPLICATION_STATE_UPDATED") || w.PID() == first {
		t.Error("what came while there was no JVM is lost")
	}
}

// A storage that fails keeps nothing else back: after some tries its entities are left out, and that is said.
func TestVersion2WithoutStorage(t *testing.T) {
	said := &output.Buffer{}
	cfg := stored(t, t.TempDir(), said)
	cfg.Properties = append(cfg.Properties, "yarn.timeline-service.writer.class", "no.such.Storage")
	log := logrus.New()
	log.SetOutput(said)
	w := writer.New(cfg)
	p := second(&Settings{v2: true}, &view.Viewer{}, w, logrus.NewEntry(log))
	p.start()
	id := records.ApplicationID{ID: 7}
	s := ledger.New()
	s.Apps[id] = &ledger.Application{ID: id}
	p.add([]entity{ofApp(id).at(6, "YARN_APPLICATION_LAUNCHED", nil)}, s)
	await.Slowly(t, "it is said", func() bool {
		return strings.Contains(said.String(), "no.such.Storage") && strings.Contains(said.String(), "can't be reached")
	})
	p.Close()
	if w.PID() != 0 {
		t.Error("its JVM is left")
	}
}

// What is known of an end is about the entity in version 2, and figures are metrics. Containers of tasks are nodes' to publish.
func TestVersion2(t *testing.T) {
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 7}
	a := &ledger.Application{ID: id, FinishTime: 9}
	e := ended(a).second()
	if e.Info["YARN_APPLICATION_STATE"] == nil || len(e.Events[0].Info) != 0 || len(e.Metrics) != 8 || e.Metrics[0].Values[9] != 0 {
		t.Errorf("%+v", e)
	}
	attempt := ofAttempt(records.AttemptID{App: id, Attempt: 2}).at(5, "YARN_APPLICATION_ATTEMPT_REGISTERED", info{"YARN_APPLICATION_ATTEMPT_HOST": "w1"})
	if e := attempt.second(); e.Created != 5 || e.Info["YARN_APPLICATION_ATTEMPT_HOST"] != "w1" || e.Prefix != 1<<63-1-2 {
		t.Errorf("%+v", e)
	}
	f := &Follower{settings: &Settings{v2: true}, tell: func(all []entity, _ *ledger.State) { t.Error(all) }}
	if out := f.life(&ledger.Container{}); len(out) != 0 {
		t.Errorf("%v", out)
	}
	s := ledger.New()
	s.Apps[id] = a
	a.Context = &pb.ApplicationSubmissionContext{}
	p := second(&Settings{v2: true}, &view.Viewer{}, writer.New(ondemand.Daemon{}), logrus.NewEntry(logrus.New()))
	for _, e := range []entity{ofContainer(records.ContainerID{Attempt: records.AttemptID{App: id}}).at(1, "YARN_CONTAINER_CREATED", nil), ofApp(records.ApplicationID{ID: 99}).at(1, "YARN_APPLICATION_LAUNCHED", nil)} {
		if b, err := p.encode(e, s); b != nil || err != nil {
			t.Errorf("%s: %q, %v", e.ID, b, err)
		}
	}
	if b, err := json.Marshal(e); err != nil || !strings.Contains(string(b), `"aggregationOp":"NOP"`) {
		t.Error(string(b), err)
	}
}

// What is known of an application is what a reader would have of its news: one entity for each thing, the newest containers first.
func TestKnown(t *testing.T) {
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 7}
	attempt := records.AttemptID{App: id, Attempt: 1}
	s := ledger.New()
	a := &ledger.Application{ID: id, User: "alice", Context: &pb.ApplicationSubmissionContext{}, State: ledger.AppFinished, SubmitTime: 2, FinishTime: 9}
	a.Attempts = []*ledger.Attempt{{ID: attempt, RegisterTime: 3, FinishTime: 8, Host: "w1", State: ledger.AttemptFinished}}
	ended := func(n int64) *ledger.Container {
		return &ledger.Container{
			ID: records.ContainerID{Attempt: attempt, ID: n}, State: ledger.ContainerCompleted, ExitStatus: records.ExitKilledByResourceManager, Allocated: 4, Finished: 6,
		}
	}
	a.Past = ledger.PastOf(ended(1), ended(2))
	s.Apps[id] = a
	v := &view.Viewer{Source: still{s}}
	var list []flow.Entity
	for _, kind := range []string{appType, attemptType, containerType} {
		list = append(list, Known(v, id, Wanted{Type: kind, Limit: 10})...)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Type+" "+e.ID)
	}
	want := []string{
		"YARN_APPLICATION application_1_0007", "YARN_APPLICATION_ATTEMPT appattempt_1_0007_000001",
		"YARN_CONTAINER container_1_0007_01_000002", "YARN_CONTAINER container_1_0007_01_000001",
	}
	if !slices.Equal(names, want) {
		t.Fatalf("%q", names)
	}
	app, try, task := list[0], list[1], list[2]
	if app.Created != 2 || app.Info["YARN_APPLICATION_STATE"] != "FINISHED" || app.Info["YARN_APPLICATION_USER"] != "alice" || len(app.Metrics) != 8 || app.Events[0].ID != "YARN_APPLICATION_FINISHED" {
		t.Errorf("%+v", app)
	}
	if try.Created != 3 || try.Info["YARN_APPLICATION_ATTEMPT_HOST"] != "w1" || try.Info["YARN_APPLICATION_ATTEMPT_STATE"] != "FINISHED" {
		t.Errorf("%+v", try)
	}
	if task.Created != 4 || task.Info["YARN_CONTAINER_EXIT_STATUS"] != int32(records.ExitAborted) || task.Info["YARN_CONTAINER_STATE"] != "COMPLETE" || len(task.Events) != 2 {
		t.Errorf("%+v", task)
	}
	for want, w := range map[string]Wanted{
		"container_1_0007_01_000002": {Type: containerType, Limit: 1}, "container_1_0007_01_000001": {Type: containerType, ID: "container_1_0007_01_000001", Limit: 9},
		"appattempt_1_0007_000001": {Type: attemptType, ID: "appattempt_1_0007_000001", Limit: 9},
	} {
		if list := Known(v, id, w); len(list) != 1 || list[0].ID != want {
			t.Errorf("%+v: %+v", w, list)
		}
	}
	for _, w := range []Wanted{{Type: containerType, Attempt: "appattempt_1_0007_000002", Limit: 9}, {Type: "odd", Limit: 9}, {Type: appType}} {
		if list := Known(v, id, w); len(list) != 0 {
			t.Errorf("%+v: %+v", w, list)
		}
	}
	if list := Known(v, records.ApplicationID{ID: 8}, Wanted{Type: appType, Limit: 9}); len(list) != 0 {
		t.Errorf("of none: %+v", list)
	}
}

// still is a ledger that doesn't change.
type still struct{ *ledger.State }

func (s still) Read(f func(*ledger.State)) { f(s.State) }

func (still) Leader() *leader.Leader { return nil }
