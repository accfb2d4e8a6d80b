package am

import (
	"fmt"
	"os"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am/client"
	"heddle/conf"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Options say how an ApplicationMaster works. The zero value is good in a container.
type Options struct {
	// Conf is the cluster's configuration; nil: that of $HADOOP_CONF_DIR.
	Conf *conf.Config
	// Getenv looks up what the NodeManager has put into the environment; os.LookupEnv if nil.
	Getenv func(name string) (string, bool)
	// Credentials hold the token for the ResourceManager; nil: those that the NodeManager has left.
	Credentials *token.Credentials
	// Host and Port are where clients of the application reach it; the node's name by default, and Port 0 if it doesn't listen.
	Host string
	Port int
	// TrackingURL is the address of the application's web pages, if it has any.
	TrackingURL string
	// Heartbeat is how often the ResourceManager hears from the attempt at least, where it answers at once; 1 s. One that
	// holds answers back hears from it when there is something to tell.
	Heartbeat time.Duration
	// Hold is how long answers may be held back; 5 s, at most 10 s.
	Hold time.Duration
	// Calls bounds how many NodeManagers are called at a time; 100.
	Calls int
	// Progress, if set, is asked before every heartbeat how much of the work is done, from 0 to 1.
	Progress func() float32
	// Probes reports the nodes that take probes of short tasks, as events.
	Probes bool
	Log    *logrus.Entry // nil: nothing is logged
}

// environment has an ApplicationMaster's attempt, host and credentials.
type environment struct {
	attempt records.AttemptID
	host    string
	creds   *token.Credentials
	amrm    token.Token
}

func (o *Options) environment() (environment, error) {
	var e environment
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.LookupEnv
	}
	text, ok := getenv("CONTAINER_ID")
	if !ok {
		return e, fmt.Errorf("CONTAINER_ID is not set: an ApplicationMaster has to be started by a ResourceManager (am/client submits applications)")
	}
	id, err := records.ParseContainerID(text)
	if err != nil {
		return e, fmt.Errorf("CONTAINER_ID: %w", err)
	}
	e.attempt = id.Attempt
	if e.creds = o.Credentials; e.creds == nil {
		if e.creds, err = client.LoadCredentials(getenv); err != nil {
			return e, err
		}
	}
	if e.amrm, ok = e.creds.OfKind(token.KindAMRM); !ok {
		return e, fmt.Errorf("%v: the credentials have no token for the ResourceManager (kind %s)", e.attempt, token.KindAMRM)
	}
	if e.host = o.Host; e.host == "" {
		e.host, _ = getenv("NM_HOST")
	}
	if e.host == "" {
		if e.host, err = os.Hostname(); err != nil {
			return e, fmt.Errorf("this host's name: %w", err)
		}
	}
	return e, nil
}

// configuration returns the cluster's configuration, which must be good.
func (o *Options) configuration() (*conf.Config, error) {
	if o.Conf != nil {
		return o.Conf, nil
	}
	c, err := conf.Load(conf.Options{Dir: conf.Locate("", o.Getenv), Getenv: o.Getenv})
	if err != nil {
		return nil, err
	}
	return c, c.ValidateFor(conf.Client).Err()
}
