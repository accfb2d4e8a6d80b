package mapreduce

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am"
	"heddle/am/client"
	"heddle/am/mapreduce/commit"
	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/staging"
	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Options say with what a job is submitted.
type Options struct {
	Conf     *conf.Config
	Binary   string // that has the functions Master and Worker as its commands mr-master and mr-worker; this one if empty
	User     string // client.User if empty
	Attempts bool   // Follow's Result is to have all attempts at tasks
	Alone    bool   // Follow will not be called, so the job doesn't wait for a reader of the outcome
	Log      *logrus.Entry
}

// Submitted is a job that runs, or has run.
type Submitted struct {
	ID          records.ApplicationID
	TrackingURL string // through the ResourceManager's proxy; known once Follow has been told
	Maps        int
	InputBytes  int64
	Files       int

	spec    *job.Spec
	cluster *client.Cluster
	apps    *client.Applications
	adapter *hdfsadapter.Adapter
	files   *hdfsadapter.FS
	log     *logrus.Entry

	attempts bool // are to be in the Result
}

// Submit checks a job, stages its files, and submits it. Its Close is to be called when it isn't needed any more; the job runs
// on. Of errors, *InputError and *OutputError say that the job's files are not as they should be.
func Submit(ctx context.Context, j job.Job, o Options) (*Submitted, error) {
	if o.Log == nil {
		l := logrus.New()
		l.SetOutput(io.Discard)
		o.Log = logrus.NewEntry(l)
	}
	s, err := job.NewSpec(j, o.Conf)
	if err != nil {
		return nil, err
	}
	if s.User = o.User; s.User == "" {
		if s.User, err = client.User(o.Conf); err != nil {
			return nil, err
		}
	}
	s.Alone = o.Alone
	x := &Submitted{spec: s, log: o.Log, attempts: o.Attempts}
	if x.adapter, err = hdfsadapter.New(o.Conf, hdfsadapter.Options{Log: o.Log}); err != nil {
		return nil, err
	}
	if x.adapter.Secure() && o.User == "" { // the ticket says who submits
		s.User = x.adapter.User()
	}
	x.files = x.adapter.As(s.User)
	if err := x.submit(ctx, o); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Close closes connections.
func (x *Submitted) Close() {
	if x.cluster != nil {
		x.cluster.Close()
	}
	x.adapter.Close()
}

// locateOutput finds out where the job's output goes, where nothing may be yet.
func (x *Submitted) locateOutput(ctx context.Context, runsAs string) error {
	s := x.spec
	out, err := x.files.Locate(s.Job.Output)
	if err != nil {
		return &commit.OutputError{Output: s.Job.Output, Err: err}
	}
	s.Output = out.String()
	if _, err := x.files.Stat(ctx, s.Output); err == nil {
		return &commit.OutputError{Output: s.Output, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return &commit.OutputError{Output: s.Output, Err: err}
	}
	if err := checkOutput(runsAs, out); err != nil {
		return &commit.OutputError{Output: s.Output, Err: err}
	}
	return nil
}

// cutInput finds the job's input, and cuts it into one split for each map.
func (x *Submitted) cutInput(ctx context.Context) ([]input.Split, error) {
	s := x.spec
	inputs, err := input.Find(ctx, x.files, s.Job.Inputs)
	if err != nil {
		return nil, err
	}
	splits, err := input.Cut(ctx, x.files, inputs, s.SplitMin, s.SplitMax)
	if err != nil {
		return nil, err
	}
	s.Maps, x.Maps, x.Files = len(splits), len(splits), len(inputs)
	for _, in := range inputs {
		x.InputBytes += in.Size
	}
	return splits, nil
}

// newApplication gets an id from the cluster, which must have room for the ApplicationMaster.
func (x *Submitted) newApplication(ctx context.Context, o Options) (err error) {
	if x.cluster, err = client.NewCluster(o.Conf, o.Log); err != nil {
		return err
	}
	if x.apps, err = x.cluster.Applications(x.spec.User); err != nil {
		return err
	}
	var most records.Resource
	if x.ID, most, err = x.apps.New(ctx); err != nil {
		return err
	}
	if m := x.spec.MasterSize.MemoryMB; !most.IsZero() && m > most[0] {
		return fmt.Errorf("%s is %d MB, more than the cluster's largest container of %d MB", job.KeyMasterMemory, m, most[0])
	}
	return nil
}

func (x *Submitted) submit(ctx context.Context, o Options) (err error) {
	s := x.spec
	runsAs := o.Conf.ContainerUser(s.User)
	if err := x.locateOutput(ctx, runsAs); err != nil {
		return err
	}
	splits, err := x.cutInput(ctx)
	if err != nil {
		return err
	}
	s.Key = make([]byte, 32)
	if _, err := rand.Read(s.Key); err != nil {
		return err
	}
	if err := x.newApplication(ctx, o); err != nil {
		return err
	}
	users, err := staging.New(x.files, o.Conf, s.User)
	if err != nil {
		return err
	}
	root := &stagingRoot{users}
	if err := root.Prepare(ctx); err != nil {
		return err
	}
	s.Staging = root.folder(x.ID)
	defer func() {
		if err != nil {
			x.clean(context.WithoutCancel(ctx), true) // nothing has written an output yet
		}
	}()
	resources, err := x.stage(ctx, splits, o.Binary)
	if err != nil {
		return fmt.Errorf("staging in %s: %w", s.Staging, err)
	}
	offer := &commit.Commit{Files: x.files, Folder: s.CommitFolder()}
	if err := offer.Offer(ctx); err != nil {
		return fmt.Errorf("staging in %s: %w", s.Staging, err)
	}
	if err := root.handOver(ctx, s.Staging, runsAs); err != nil {
		return fmt.Errorf("staging in %s: %w", s.Staging, err)
	}
	creds := &token.Credentials{}
	if err := staging.Tokens(ctx, x.files, o.Conf, creds, append([]string{s.Staging, s.Output}, s.Job.Inputs...)...); err != nil {
		return fmt.Errorf("delegation tokens: %w", err)
	}
	err = x.apps.Submit(ctx, client.Submission{
		ID: x.ID, Name: s.Job.Name, Type: "MAPREDUCE", Queue: s.Queue, Label: s.Label, Priority: s.Priority,
		MaxAttempts: s.MasterTries,
		Resource:    s.MasterSize.Resource(),
		AM: am.Launch{
			Command:   []string{"exec ./" + job.BinaryFile + " mr-master 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"},
			Env:       map[string]string{"HADOOP_USER_NAME": client.Quote(s.User)},
			Resources: localResources(resources), Credentials: creds,
		},
	})
	if err != nil {
		return err
	}
	if removed, e := root.sweep(ctx, x.ID, x.apps.Report, time.Now()); e != nil || len(removed) > 0 {
		x.log.WithError(e).Debugf("uploaded files of jobs that are over, removed: %v", removed)
	}
	return nil
}

// stage puts the job's files where nodes can fetch them. It returns those for the ApplicationMaster.
func (x *Submitted) stage(ctx context.Context, splits []input.Split, binary string) ([]job.Resource, error) {
	s := x.spec
	if err := x.files.MkdirAll(ctx, s.Staging, 0o700); err != nil {
		return nil, err
	}
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	program, err := x.copyIn(ctx, binary, job.BinaryFile, job.BinaryFile, 0o700)
	if err != nil {
		return nil, err
	}
	s.Resources = []job.Resource{program}
	names := map[string]string{}
	for i, list := range [][]string{s.Job.Files, s.Job.Archives} {
		for _, file := range list {
			r, err := x.resource(ctx, file)
			if err != nil {
				return nil, err
			}
			if other, ok := names[r.Name]; ok {
				return nil, fmt.Errorf("%s and %s would both be called %s: end one with #another-name", other, file, r.Name)
			}
			names[r.Name] = file
			r.Archive = i == 1
			s.Resources = append(s.Resources, r)
		}
	}
	var rest []job.Resource
	for _, f := range []struct {
		name string
		what any
	}{{job.SplitsFile, splits}, {job.SpecFile, s}} {
		b, err := json.Marshal(f.what)
		if err != nil {
			return nil, err
		}
		r, err := x.write(ctx, strings.NewReader(string(b)), f.name, f.name, 0o600)
		if err != nil {
			return nil, err
		}
		rest = append(rest, r)
	}
	return append(s.Resources, rest...), nil
}

// resource makes a file of the user's one for containers: a local one is staged.
func (x *Submitted) resource(ctx context.Context, file string) (job.Resource, error) {
	name, as, _ := strings.Cut(file, "#")
	if as == "" {
		as = path.Base(name)
	}
	if as == "." || as == ".." || strings.ContainsAny(as, "/\x00") || strings.HasPrefix(as, ".") {
		return job.Resource{}, fmt.Errorf("%s: a file can't be called %q in the work folder", file, as)
	}
	// Under its own name, by which a node knows what kind of archive it is.
	staged := path.Join("files", as, path.Base(name))
	if !strings.Contains(name, "://") {
		local, err := filepath.Abs(strings.TrimPrefix(name, "file:"))
		if err != nil {
			return job.Resource{}, err
		}
		return x.copyIn(ctx, local, staged, as, 0o700)
	}
	if local, ok := strings.CutPrefix(name, "file://"); ok {
		return x.copyIn(ctx, local, staged, as, 0o700)
	}
	info, err := x.files.Stat(ctx, name)
	if err != nil {
		return job.Resource{}, err
	}
	if info.IsDir() {
		return job.Resource{}, fmt.Errorf("%s is a folder", file)
	}
	return job.Resource{Name: as, URL: info.Path, Size: info.Size, ModTime: info.ModTime}, nil
}

func (x *Submitted) copyIn(ctx context.Context, local, to, name string, perm fs.FileMode) (job.Resource, error) {
	f, err := os.Open(local)
	if err != nil {
		return job.Resource{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return job.Resource{}, err
	} else if !info.Mode().IsRegular() {
		return job.Resource{}, fmt.Errorf("%s is not a file", local)
	}
	return x.write(ctx, f, to, name, perm)
}

func (x *Submitted) write(ctx context.Context, from io.Reader, to, name string, perm fs.FileMode) (job.Resource, error) {
	to = x.spec.Staging + "/" + to
	w, err := x.files.Create(ctx, to, hdfsadapter.CreateOptions{Perm: perm, Replication: 0})
	if err != nil {
		return job.Resource{}, err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, from, make([]byte, 1<<20))
	if e := w.Close(); err == nil {
		err = e
	}
	if err != nil {
		return job.Resource{}, fmt.Errorf("%s: %w", to, err)
	}
	info, err := x.files.Stat(ctx, to)
	if err != nil {
		return job.Resource{}, err
	}
	return job.Resource{Name: name, URL: info.Path, Size: info.Size, ModTime: info.ModTime}, nil
}

// clean removes the staged files, and what is left of the output of a job that hasn't succeeded: its ApplicationMaster may have been killed.
func (x *Submitted) clean(ctx context.Context, succeeded bool) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if !succeeded {
		c := &commit.Commit{Files: x.files, Folder: x.spec.CommitFolder(), Output: x.spec.Output}
		if err := c.Abandon(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been removed with the staged files
			x.log.WithError(err).Warn("parts of the output are left behind")
		}
	}
	if err := x.files.RemoveAll(ctx, x.spec.Staging); err != nil {
		x.log.WithError(err).Warn("uploaded files are left behind")
	}
}
