package logs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"heddle/yarn/records"
)

// Keys of the store. An application's is appPrefix and its id. A container's is containerPrefix, the application's id,
// a slash, and its own id.
const (
	appPrefix       = "logs/app/"
	containerPrefix = "logs/container/"
)

// savedApp is the record of an application whose logs need work.
type savedApp struct {
	User      string            `json:"user"`
	Tokens    []byte            `json:"tokens,omitempty"`
	ACLs      map[string]string `json:"acls,omitempty"`
	Wishes    Wishes            `json:"wishes"`
	Finishing bool              `json:"finishing,omitempty"`
}

// savedContainer is the record of a container that has ended, or has uploaded logs.
type savedContainer struct {
	Master   bool     `json:"master,omitempty"`
	ExitCode int      `json:"exitCode"`
	Finished bool     `json:"finished"`
	Over     bool     `json:"over,omitempty"`
	Uploaded []string `json:"uploaded,omitempty"`
}

func containerKey(id records.ContainerID) string {
	return containerPrefix + id.Attempt.App.String() + "/" + id.String()
}

// put stores a value. A failure may only lose the aggregation of logs if the NodeManager restarts.
func (a *Aggregator) put(key string, value any) {
	if a.cfg.Store == nil {
		return
	}
	b, err := json.Marshal(value)
	if err == nil {
		err = a.cfg.Store.Put(key, b)
	}
	if err != nil {
		a.log.WithFields(logrus.Fields{"key": key, logrus.ErrorKey: err}).Warn("cannot record the state of log aggregation")
	}
}

func (a *Aggregator) save(app *application) {
	a.mu.Lock()
	finishing := app.finishing
	a.mu.Unlock()
	a.put(appPrefix+app.App.String(), savedApp{User: app.User, Tokens: app.Tokens, ACLs: app.ACLs, Wishes: app.Wishes, Finishing: finishing})
}

func (a *Aggregator) saveContainer(app *application, id records.ContainerID) {
	a.mu.Lock()
	c := app.containers[id]
	s := savedContainer{
		Master: c.Master, ExitCode: c.ExitCode, Finished: c.finished, Over: c.over,
		Uploaded: slices.Sorted(maps.Keys(c.uploaded)),
	}
	a.mu.Unlock()
	a.put(containerKey(id), s)
}

// forget removes the records of an application.
func (a *Aggregator) forget(app *application) {
	if a.cfg.Store == nil {
		return
	}
	keys := []string{appPrefix + app.App.String()}
	for id := range app.containers {
		keys = append(keys, containerKey(id))
	}
	for _, k := range keys {
		if err := a.cfg.Store.Delete(k); err != nil {
			a.log.WithFields(logrus.Fields{"key": k, logrus.ErrorKey: err}).Warn("cannot delete a record of log aggregation")
		}
	}
}

// dropDamaged removes a record that makes no sense.
func (a *Aggregator) dropDamaged(key string, why error) error {
	a.log.WithFields(logrus.Fields{"key": key, logrus.ErrorKey: why}).Error("removing a record of log aggregation, which is damaged")
	return a.cfg.Store.Delete(key)
}

// Recover restores the applications that an earlier NodeManager handled, and returns them. Those that had finished are
// uploaded at once.
func (a *Aggregator) Recover() ([]records.ApplicationID, error) {
	if a.cfg.Store == nil {
		return nil, nil
	}
	apps, finishing, err := a.recoverApplications()
	if err == nil {
		err = a.recoverContainers(apps)
	}
	if err != nil {
		return nil, fmt.Errorf("log aggregation: recover: %w", err)
	}
	a.mu.Lock()
	for id, app := range apps {
		a.apps[id] = app
		a.wg.Add(1)
		go a.run(app)
	}
	a.mu.Unlock()
	for id, yes := range finishing {
		if yes {
			a.FinishApplication(id)
		}
	}
	return slices.SortedFunc(maps.Keys(apps), records.ApplicationID.Compare), nil
}

// recoverApplications reads the saved applications, and which of them had finished.
func (a *Aggregator) recoverApplications() (apps map[records.ApplicationID]*application, finishing map[records.ApplicationID]bool, err error) {
	apps, finishing = map[records.ApplicationID]*application{}, map[records.ApplicationID]bool{}
	err = a.cfg.Store.ForEach(appPrefix, func(key string, value []byte) error {
		id, err := records.ParseApplicationID(strings.TrimPrefix(key, appPrefix))
		var s savedApp
		if err == nil {
			err = json.Unmarshal(value, &s)
		}
		if err != nil {
			return a.dropDamaged(key, err)
		}
		app, err := a.newApplication(Start{App: id, User: s.User, Tokens: s.Tokens, ACLs: s.ACLs, Wishes: s.Wishes})
		if err != nil {
			a.log.WithFields(logrus.Fields{"application": id.String(), logrus.ErrorKey: err}).Error("the logs of an application cannot be aggregated")
			return nil
		}
		apps[id], finishing[id] = app, s.Finishing
		return nil
	})
	return apps, finishing, err
}

// recoverContainers reads the saved containers of these applications.
func (a *Aggregator) recoverContainers(apps map[records.ApplicationID]*application) error {
	return a.cfg.Store.ForEach(containerPrefix, func(key string, value []byte) error {
		_, name, _ := strings.Cut(strings.TrimPrefix(key, containerPrefix), "/")
		id, err := records.ParseContainerID(name)
		var s savedContainer
		if err == nil {
			err = json.Unmarshal(value, &s)
		}
		if err != nil {
			return a.dropDamaged(key, err)
		}
		app := apps[id.Attempt.App]
		if app == nil {
			return nil
		}
		c := &container{
			Ended:    Ended{ID: id, Master: s.Master, ExitCode: s.ExitCode},
			finished: s.Finished, over: s.Over, uploaded: map[string]bool{},
		}
		for _, m := range s.Uploaded {
			c.uploaded[m] = true
		}
		app.containers[id] = c
		return nil
	})
}
