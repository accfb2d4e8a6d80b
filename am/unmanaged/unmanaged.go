// Package unmanaged runs an application whose ApplicationMaster is this process: the ResourceManager starts nothing for it. Interactive
// tools use it (heddle/am/pool, heddle/am/probes).
package unmanaged

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am"
	"heddle/am/client"
	"heddle/conf"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Options of an application.
type Options struct {
	Conf  *conf.Config
	User  string // client.User if empty
	Name  string
	Type  string
	Queue string
	// Address is the host by which nodes reach this process; "" is the one that faces the ResourceManager.
	Address string
	Probes  bool // as in am.Options
	// Progress is as in am.Options.
	Progress func() float32
	Log      *logrus.Entry
}

// Application is one that isn't submitted yet.
type Application struct {
	Options
	ID   records.ApplicationID
	Most records.Resource // of a container; zero: not known
	// Tokens are those that the application's containers get: the ResourceManager renews them as long as it lives.
	Tokens []token.NamedToken
}

// New gets an id for an application.
func New(ctx context.Context, o Options) (*Application, error) {
	if o.User == "" {
		var err error
		if o.User, err = client.User(o.Conf); err != nil {
			return nil, err
		}
	}
	a := &Application{Options: o}
	return a, a.call(func(apps *client.Applications) (err error) {
		a.ID, a.Most, err = apps.New(ctx)
		return err
	})
}

// call calls the ResourceManager.
func (a *Application) call(f func(*client.Applications) error) error {
	cluster, err := client.NewCluster(a.Conf, a.Log)
	if err != nil {
		return err
	}
	defer cluster.Close()
	apps, err := cluster.Applications(a.User)
	if err != nil {
		return err
	}
	return f(apps)
}

// Main is the ApplicationMaster. It returns when stop is closed, or ctx ends. host is where nodes reach this process.
type Main func(ctx context.Context, m *am.Master, host string, stop <-chan struct{}) error

// Running is an application that was submitted.
type Running struct {
	ID   records.ApplicationID
	stop chan struct{}
	done chan struct{}
	err  error

	mu      sync.Mutex
	status  pb.FinalApplicationStatus // with which it ends when it is stopped
	because string
}

// SetResult chooses the final status of the application, and its diagnostics, for when it is stopped. Without it, that is am.Succeeded.
func (r *Running) SetResult(status pb.FinalApplicationStatus, because string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.because = status, because
}

// end ends the application with the status that was chosen.
func (r *Running) end(m *am.Master) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.SetResult(r.status, r.because, "")
}

// Stop ends the application, and returns when it has ended. The error says why it has ended before, if it has.
func (r *Running) Stop() error {
	close(r.stop)
	<-r.done
	return r.err
}

// StopWithin ends the application, and reports whether it has ended within a time: the ResourceManager may be gone.
func (r *Running) StopWithin(d time.Duration) bool {
	close(r.stop)
	select {
	case <-r.done:
		return true
	case <-time.After(d):
		return false
	}
}

// Run submits the application, of which a task takes so much memory, and returns when the ResourceManager has accepted it. If the
// application ends by itself, ended is called with the reason.
func (a *Application) Run(ctx context.Context, memory int, main Main, ended func(error)) (*Running, error) {
	var launch client.Launch
	if len(a.Tokens) > 0 {
		launch.Credentials = &token.Credentials{Tokens: a.Tokens}
	}
	err := a.call(func(apps *client.Applications) error {
		return apps.Submit(ctx, client.Submission{
			AM: launch, ID: a.ID, Name: a.Name, Type: a.Type, Queue: a.Queue, Unmanaged: true, MaxAttempts: 1,
			Resource: records.NewResource(int64(memory), 1),
		})
	})
	if err != nil {
		return nil, err
	}
	r := &Running{ID: a.ID, status: am.Succeeded, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = a.fate(ctx, a.attend(ctx, r, main))
		select {
		case <-r.stop:
		default:
			ended(fmt.Errorf("%v: %w", a.ID, cmp.Or(r.err, errors.New("it has ended"))))
		}
	}()
	return r, nil
}

// fatePatience limits how long the ResourceManager is asked for what became of an application.
const fatePatience = 5 * time.Second

// fate says what became of an application whose ApplicationMaster was dismissed, such as who has killed it. Otherwise, and where the
// ResourceManager doesn't tell, it returns err.
func (a *Application) fate(ctx context.Context, err error) error {
	if !errors.Is(err, am.ErrDismissed) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fatePatience)
	defer cancel()
	var report client.Report
	asked := a.call(func(apps *client.Applications) (err error) {
		report, err = apps.Wait(ctx, a.ID, func(r client.Report) bool { return r.Ended() })
		return err
	})
	if asked != nil || report.Diagnostics == "" || report.State != pb.YarnApplicationState_KILLED && report.State != pb.YarnApplicationState_FAILED {
		return err
	}
	return errors.New(report.Diagnostics)
}

// attend runs the ApplicationMaster.
func (a *Application) attend(ctx context.Context, r *Running, main Main) error {
	attempt, tok, err := a.await(ctx, r)
	if errors.Is(err, errStopped) {
		return nil
	}
	if err != nil {
		return err
	}
	creds := &token.Credentials{}
	creds.SetToken("", tok)
	host, err := a.host()
	if err != nil {
		return err
	}
	o := am.Options{
		Conf: a.Conf, Credentials: creds, Host: host, Probes: a.Probes, Progress: a.Progress, Log: a.Log,
		Getenv: func(name string) (string, bool) {
			if name == "CONTAINER_ID" {
				return records.ContainerID{Attempt: attempt, ID: 1}.String(), true
			}
			return "", false
		},
	}
	return am.Run(context.WithoutCancel(ctx), o, func(ctx context.Context, m *am.Master) error {
		if err := main(ctx, m, host, r.stop); err != nil {
			return err
		}
		r.end(m)
		return nil
	})
}

// errStopped says that the application was stopped before it ran.
var errStopped = errors.New("stopped")

// await waits for the token of the ApplicationMaster. Stopping meanwhile kills the application.
func (a *Application) await(ctx context.Context, r *Running) (attempt records.AttemptID, tok token.Token, err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		select {
		case <-r.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	err = a.call(func(apps *client.Applications) (err error) {
		if attempt, tok, err = apps.MasterToken(ctx, r.ID); err == nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		killed := apps.Kill(ctx, r.ID, "its user has ended it")
		select {
		case <-r.stop:
			err = errStopped
		default:
		}
		if killed != nil {
			err = killed
		}
		return err
	})
	return attempt, tok, err
}

// host returns where nodes reach this process.
func (a *Application) host() (string, error) {
	if a.Address != "" {
		return a.Address, nil
	}
	at, err := a.Conf.RMAddresses("yarn.resourcemanager.scheduler.address")
	if err != nil {
		return "", err
	}
	// Nothing is sent: the kernel only says which of this machine's addresses faces the ResourceManager.
	probe, err := net.Dial("udp", at[0].String())
	if err != nil {
		return "", fmt.Errorf("which address of this machine the cluster's nodes can reach: %w (name it with --address)", err)
	}
	defer probe.Close()
	return probe.LocalAddr().(*net.UDPAddr).IP.String(), nil
}
