package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am"
	"heddle/am/client"
	"heddle/am/mapreduce/commit"
	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/served"
	"heddle/am/mapreduce/signed"
	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/hdfsadapter"
	"heddle/internal/pause"
	"heddle/yarn/proxyca"
	"heddle/yarn/rest/port"
	"heddle/yarn/token"
)

// listen opens the port where the ApplicationMaster serves workers, clients and pages. secured is whether its pages have a certificate.
func listen(s *job.Spec) (served net.Listener, url string, secured bool, err error) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return nil, "", false, err
	}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	own, err := s.TLS()
	if err != nil {
		return nil, "", false, err
	}
	if served, secured, err = proxyca.Served(l, os.Getenv, own); err != nil {
		return nil, "", false, err
	}
	host := os.Getenv("NM_HOST")
	if host == "" {
		if host, err = os.Hostname(); err != nil {
			return nil, "", false, err
		}
	}
	return served, "http://" + net.JoinHostPort(host, fmt.Sprint(l.Addr().(*net.TCPAddr).Port)), secured, nil
}

// Master is the main function of a job's ApplicationMaster. The error of a job that has failed is returned as well.
func Master(ctx context.Context, log *logrus.Entry) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	s, err := job.ReadSpec(folder)
	if err != nil {
		return err
	}
	var splits []input.Split
	if err := job.ReadJSON(filepath.Join(folder, job.SplitsFile), &splits); err != nil {
		return err
	}
	c, err := s.Config()
	if err != nil {
		return err
	}
	trust, err := ssl.Trusting(c, s.Authorities)
	if err != nil {
		return err
	}
	adapter, err := hdfsadapter.New(c, hdfsadapter.Options{Log: log, Trust: trust})
	if err != nil {
		return err
	}
	defer adapter.Close()
	creds, err := client.LoadCredentials(nil)
	if err != nil {
		return err
	}
	served, url, secured, err := listen(s)
	if err != nil {
		return err
	}
	defer served.Close()
	m := &master{
		spec: s, splits: splits, files: adapter.As(s.User, client.Tokens(creds)...), log: log, creds: creds,
		listener: served, url: url,
	}
	err = am.Run(ctx, am.Options{Conf: c, Credentials: creds, TrackingURL: pages(m.url, secured), Log: log}, m.run)
	if !m.concluded && m.killed(ctx, c) {
		ctx := context.WithoutCancel(ctx)
		m.discard(ctx, m.committer(m.attempt))
		m.concluded = true
	}
	if m.concluded {
		ctx := context.WithoutCancel(ctx)
		if err := m.files.RemoveAll(ctx, s.Staging); err != nil {
			log.WithError(err).Warn("uploaded files are left behind")
		}
	}
	return err
}

// pages returns where the pages of an ApplicationMaster are: with a certificate, by HTTPS at the port of the rest.
func pages(url string, secured bool) string {
	if secured {
		return "https" + strings.TrimPrefix(url, "http")
	}
	return url
}

type master struct {
	spec      *job.Spec
	splits    []input.Split
	files     *hdfsadapter.FS
	creds     *token.Credentials
	log       *logrus.Entry
	listener  net.Listener
	url       string
	tasks     *coordinator
	attempt   int32
	concluded bool
}

// killed reports whether the application was killed, so that no other attempt needs its files. There is little time to find
// out: a NodeManager kills a process a quarter of a second after it has told it to end.
func (m *master) killed(ctx context.Context, c *conf.Config) bool {
	if m.tasks == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepPatience)
	defer cancel()
	cluster, err := client.NewCluster(c, m.log)
	if err != nil {
		return false
	}
	defer cluster.Close()
	apps, err := cluster.Applications(m.spec.User)
	return err == nil && killed(ctx, apps.Report, m.tasks.app)
}

// goodbye is how long the user's side is waited for to ask for the outcome, and lastWords how long answers may take in the end.
const (
	goodbye   = 2 * time.Second
	lastWords = time.Second
)

func (m *master) run(ctx context.Context, a *am.Master) error {
	attempt := a.Attempt()
	c := newCoordinator(m.spec, m.splits, attempt.App, m.log)
	c.cluster = a
	if usesHints(m.spec) {
		a.WantHints()
	}
	m.tasks, m.attempt = c, attempt.Attempt
	server := port.New(m.handler(), port.MaxHeader, nil)
	go server.Serve(m.listener) // until Close
	defer func() {
		// Answers under way, such as the outcome, are completed.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		server.Shutdown(ctx)
		server.Close()
	}()

	x := m.committer(attempt.Attempt)
	c.output = x.Work()
	begun, err := x.Claim(ctx)
	switch {
	case err != nil:
	case begun != nil:
		err = x.Finish(ctx, begun)
	default:
		if m.spec.NodesServe {
			c.shuffle = served.Data(attempt.App, served.Secret(m.spec.Key))
		}
		if c.launch, err = m.workerLaunch(ctx); err == nil {
			err = x.Prepare(ctx)
		}
		if err == nil {
			err = m.work(ctx, a, x)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, commit.ErrFenced) {
			m.discard(ctx, x)
		}
	}
	if errors.Is(err, commit.ErrFenced) {
		m.log.WithError(err).Warn("leaving the job to it")
		_ = pause.For(ctx, dismissal) // it doesn't belong to the job
		return errors.Join(err, context.Cause(ctx))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // another attempt may continue
	}
	c.conclude(err)
	if !m.spec.Alone {
		c.heard(ctx, goodbye)
	}
	m.concluded = ctx.Err() == nil
	return err
}

// dismissal is how long an attempt that was succeeded waits for the ResourceManager to say so.
const dismissal = time.Minute

func (m *master) committer(attempt int32) *commit.Commit {
	return &commit.Commit{Files: m.files, Folder: m.spec.CommitFolder(), Attempt: attempt, Output: m.spec.Output}
}

// work does all tasks and commits the output.
func (m *master) work(ctx context.Context, a *am.Master, x *commit.Commit) error {
	ctx, cancel := context.WithCancel(ctx)
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		m.listen(ctx, a)
	}()
	defer func() {
		cancel()
		<-listened
	}()
	m.tasks.begin()
	if err := m.tasks.await(ctx); err != nil {
		return err
	}
	if err := a.Confirm(ctx); err != nil {
		return err
	}
	list, err := x.Begin(ctx, m.tasks.parts())
	if err != nil {
		return fmt.Errorf("commit of the output: %w", err)
	}
	return x.Finish(ctx, list)
}

// listen takes events in until ctx ends.
func (m *master) listen(ctx context.Context, a *am.Master) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	events := am.Callbacks{
		ContainersAllocated:  func(e am.ContainersAllocated) { m.tasks.allocated(e.Containers) },
		ContainerStartFailed: func(e am.ContainerStartFailed) { notStarted(m.tasks, e) },
		NodesUpdated:         func(e am.NodesUpdated) { nodesChanged(m.tasks, e.Nodes) },
		ContainerCompleted:   func(e am.ContainerCompleted) { m.tasks.completed(e.ID, e.ExitStatus, e.Diagnostics) },
		ContainersSuspended:  func(e am.ContainersSuspended) { m.tasks.suspended(e.IDs, true) },
		ContainersResumed:    func(e am.ContainersResumed) { m.tasks.suspended(e.IDs, false) },
		SwapRefused:          func(e am.SwapRefused) { unfrozen(m.tasks, e.ID, e.Reason) },
		Hinted:               func(e am.Hinted) { m.tasks.hinted(e) },
		RequestsRefused:      func(e am.RequestsRefused) { m.tasks.refused(e.Err) },
		Resynced:             func(am.Resynced) { m.log.Info("another ResourceManager has taken over") },
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.tasks.relieve()
			a.SetProgress(m.tasks.fraction())
		case e, ok := <-a.Events():
			if !ok {
				return
			}
			events.Dispatch(e)
		}
	}
}

// discard removes what a job that has failed has written.
func (m *master) discard(ctx context.Context, x *commit.Commit) {
	if err := x.Discard(ctx); err != nil {
		m.log.WithError(err).Warn("parts of the output are left behind")
	}
}

func (m *master) workerLaunch(ctx context.Context) (am.Launch, error) {
	info, err := m.files.Stat(ctx, m.spec.Staging+"/"+job.SpecFile)
	if err != nil {
		return am.Launch{}, fmt.Errorf("uploaded files: %w", err)
	}
	described := job.Resource{Name: job.SpecFile, URL: info.Path, Size: info.Size, ModTime: info.ModTime}
	return am.Launch{
		Command:     []string{"exec ./" + job.BinaryFile + " mr-worker " + m.url + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"},
		Resources:   localResources(append(slices.Clone(m.spec.Resources), described)),
		Credentials: client.WithoutMasterToken(m.creds),
	}, nil
}

func localResources(list []job.Resource) map[string]client.Resource {
	out := map[string]client.Resource{}
	for _, r := range list {
		kind := client.File
		if r.Archive {
			kind = client.Archive
		}
		out[r.Name] = client.Resource{
			URL: r.URL, Size: r.Size, ModTime: r.ModTime, Type: kind,
			Visibility: client.Application,
		}
	}
	return out
}

// handler serves workers and the user's side, which sign what they say, and a page for all users.
func (m *master) handler() http.Handler {
	c := m.tasks
	mux := http.NewServeMux()
	g := signed.NewGuard(m.spec.Key)
	mux.Handle("/worker/next", signed.Serve(g, c.next))
	mux.Handle("/worker/progress", signed.Serve(g, c.progress))
	mux.Handle("/worker/done", signed.Serve(g, c.finished))
	mux.Handle("/worker/outputs", signed.Serve(g, c.whereabouts))
	mux.Handle("/worker/lost", signed.Serve(g, c.unfetchable))
	mux.Handle("/status", signed.Serve(g, c.status))
	mux.HandleFunc("GET /{$}", c.page)
	return mux
}
