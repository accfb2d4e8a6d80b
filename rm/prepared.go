package rm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/conf/secure"
	"heddle/conf/serviceacl"
	"heddle/conf/ssl"
	"heddle/conf/usergroups"
	"heddle/conf/usernames"
	"heddle/internal/connections"
	"heddle/internal/secret"
	"heddle/rm/queue"
	"heddle/rm/raft"
	"heddle/rm/timelineservice"
	"heddle/rm/topology"
	"heddle/yarn/account"
	"heddle/yarn/principal"
	"heddle/yarn/records"
	"heddle/yarn/rest/auth"
	"heddle/yarn/rest/port"
)

// prepared holds the settings and files that a ResourceManager reads before it opens ports and state. All that can be wrong with a
// configuration is found here, so that heddle conf check finds what New does.
type prepared struct {
	id          string
	types       records.ResourceTypes
	login       string // the user who runs this process, or the short name of the account
	accounts    *account.Directory
	groups      func(user string) ([]string, error)
	queues      *queue.Tree
	connections connections.Limits
	names       *principal.Rules
	secret      *secret.Secret // of the cluster; nil: it has none
	raft        raft.Config
	maxHeader   int             // of requests to the web port, bytes
	account     *secure.Account // with Kerberos
	policy      *serviceacl.Policy
	timeline    *timelineservice.Settings // nil: nothing is published
}

// Check returns all that keeps a ResourceManager with an id from starting with a configuration, and what an administrator should know of it.
// id may be "", as in Options.
func Check(c *conf.Config, id string) (found []conf.Problem) {
	p, err := prepare(c, id, nil)
	found = conf.Problems(err)
	if p.queues != nil {
		found = append(found, p.queues.Problems...)
	}
	found = append(found, topology.Problems(c)...)
	found = append(found, timelineservice.Problems(c)...)
	found = append(found, ssl.Problems(c, webHost(c, p.id), time.Now())...)
	if _, err := HostFiles(c).Read(); err != nil {
		found = append(found, conf.Problem{Severity: conf.Warning, Message: err.Error() + "; until then all machines may be nodes"})
	}
	for i := range found {
		if found[i].Severity == conf.Error {
			found[i].Roles = conf.ResourceManager
		}
	}
	return found
}

// OwnID returns the id of this machine's ResourceManager.
func OwnID(c *conf.Config) (string, error) { return c.OwnRMID(context.Background(), "") }

// prepare reads a configuration. It returns all errors together, and with them what it could read.
func prepare(c *conf.Config, id string, log *logrus.Entry) (*prepared, error) {
	p := &prepared{maxHeader: port.MaxHeader}
	var all []error
	check := func(key string, err error) {
		if err != nil {
			all = append(all, conf.ErrorAt(c, key, err))
		}
	}
	var err error
	if p.id, err = c.OwnRMID(context.Background(), id); err != nil {
		return p, err
	}
	if p.types, err = c.ResourceTypes(); err != nil {
		check("yarn.resource-types", err)
	} else if p.queues, err = queue.FromConf(c); err != nil {
		all = append(all, err) // its errors name files and lines
	}
	p.readAccounts(c, log, check)
	descriptors, err := connections.Descriptors()
	if err == nil {
		p.connections, err = connections.LimitsOf(c, descriptors)
	}
	check(connections.ReservedKey, err)
	if p.readSecret(c, check) {
		p.readRaft(c, check)
	}
	p.names, err = usernames.Of(c)
	check("", err)
	if err == nil {
		_, err = auth.FromConf(c, auth.Daemon{Role: "resourcemanager", Host: webHost(c, p.id)}) // which reads these rules, too
		check("", err)
	}
	p.readKerberos(c, check)
	_, err = auth.Guards(c, "resourcemanager", nil, nil)
	check("", err)
	_, err = ssl.Web(c, nil)
	check("", err)
	p.timeline, err = timelineservice.Of(c)
	check("", err)
	check(javaservices.LabelsClassKey, javaservices.Delegating(c, environ.Of(c.Dir(), os.LookupEnv)))
	const header = "hadoop.http.max.request.header.size"
	if v, ok := c.Get(header); ok {
		p.maxHeader, err = strconv.Atoi(v)
		check(header, err)
	}
	return p, errors.Join(all...)
}

// readKerberos reads the account that this ResourceManager logs in with, and the accounts that may connect.
func (p *prepared) readKerberos(c *conf.Config, check func(key string, err error)) {
	var err error
	if secure.On(c) && p.names != nil { // else it has been said
		if p.account, err = secure.ResourceManager(c, p.id); err == nil {
			p.login, err = p.names.Short(p.account.Principal)
		}
		check(secure.ManagerAccount, err)
	}
	p.policy, err = serviceacl.Read(c, p.groups)
	check("", err)
}

func (p *prepared) readAccounts(c *conf.Config, log *logrus.Entry, check func(key string, err error)) {
	var err error
	p.accounts, p.groups, err = usergroups.Directory(c, log)
	check("", err)
	me, err := user.Current()
	if err != nil {
		check("", fmt.Errorf("find out who runs this ResourceManager: %w", err))
		return
	}
	p.login = me.Username
}

// readSecret reports whether there is no secret, or it can be read.
func (p *prepared) readSecret(c *conf.Config, check func(key string, err error)) bool {
	const file = "heddle.cluster.secret-file"
	path := c.Text(file)
	if path == "" {
		return true
	}
	s, err := secret.Load(path)
	if secret.ForOthers(err) {
		err = &conf.StartedBy{Err: err}
	}
	check(file, err)
	p.secret = &s
	return err == nil
}

// readRaft reads how members of the group find and trust each other. A group that machines of others could join is an error.
func (p *prepared) readRaft(c *conf.Config, check func(key string, err error)) {
	var err error
	if p.raft, err = raftConfig(c, p.id); err != nil {
		check("", err)
		return
	}
	if len(p.raft.Members) == 1 {
		return
	}
	a, err := c.RaftAddress(p.id)
	if err == nil && openTo(c, a, p.raft) != nil {
		check("heddle.raft.address."+p.id, unsafeRaft(c, p.id, openTo(c, a, p.raft)))
	}
}

// openTo returns an error if raft at an address would be open to strangers.
func openTo(c *conf.Config, a conf.Address, cfg raft.Config) error {
	if host := c.Text("yarn.resourcemanager.bind-host"); host != "" {
		a.Host = host
	}
	at, err := net.ResolveTCPAddr("tcp", a.String())
	if err != nil {
		return nil // a matter of this machine, which the port will find
	}
	return raft.CheckAddress(at, cfg.TLS)
}

// unsafeRaft words the error of an address of raft that is open to strangers.
func unsafeRaft(c *conf.Config, id string, err error) error {
	if missing := c.MissingForTwo(); missing != "" {
		err = fmt.Errorf("%w. With it alone, %s", err, missing)
	}
	return fmt.Errorf("heddle.raft.address.%s: %w", id, err)
}
