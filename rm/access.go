package rm

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os/user"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/rm/access"
	"heddle/rm/queue"
	"heddle/rm/service"
	"heddle/yarn/account"
	"heddle/yarn/acl"
)

// openAccess reads administrators, access lists and proxy users from the configuration.
func (r *ResourceManager) openAccess() error {
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("find out who runs this ResourceManager: %w", err)
	}
	r.login = me.Username
	const overrides = "hadoop.user.group.static.mapping.overrides"
	r.accounts = &account.Directory{
		Keep:     r.conf.Duration("hadoop.security.groups.cache.secs"),
		KeepNone: r.conf.Duration("hadoop.security.groups.negative-cache.secs"),
		Patience: account.System.Patience, Now: time.Now,
	}
	if r.groups, err = r.accounts.GroupsExcept(r.conf.Text(overrides)); err != nil {
		return fmt.Errorf("%s: %w", overrides, err)
	}
	if r.settings.Queues, err = queue.FromConf(r.conf); err != nil {
		return err
	}
	for _, p := range r.settings.Queues.Problems {
		level := logrus.WarnLevel
		if p.Severity == conf.Info {
			level = logrus.InfoLevel
		}
		r.log.Log(level, p.String())
	}
	if r.settings.Queues.Kind == queue.Fair {
		r.settings.Increment = r.settings.Queues.Settings.Fair.Increment
	}
	r.settings.Live = queue.NewLive(r.settings.Queues)
	r.settings.QueueSource = queueSource{r.conf, r.settings.Queues.Kind}
	r.settings.Groups = r.groups
	r.access = access.FromConf(r.conf, r.settings.Live, r.login, r.groups)
	r.settings.MaySubmit = r.access.MaySubmit
	r.settings.ACLs = r.access.Enabled
	r.setProxies(r.conf)
	return nil
}

// setProxies reads who may act for whom. As in Hadoop, keys for ResourceManagers alone take precedence.
func (r *ResourceManager) setProxies(c *conf.Config) {
	rules := c.WithPrefix("hadoop.proxyuser.")
	maps.Copy(rules, c.WithPrefix("yarn.resourcemanager.proxyuser."))
	p := acl.NewProxyUsers(rules)
	r.proxies.Store(&p)
}

// Refresh rereads a part of the configuration that administrators may change while the ResourceManager runs.
func (r *ResourceManager) Refresh(what service.Refreshable) error {
	if what == service.Groups {
		r.accounts.Forget()
		return nil
	}
	c, err := r.conf.Reread()
	if err != nil {
		return err
	}
	switch what {
	case service.Admins:
		r.access.SetAdmins(access.Administrators(c))
	case service.ProxyUsers:
		r.setProxies(c)
		r.accounts.Forget()
	}
	return nil
}

// refreshAll rereads what administrators may have refreshed while another member led. A member calls it when it begins to lead.
func (r *ResourceManager) refreshAll() {
	for _, what := range []service.Refreshable{service.Admins, service.ProxyUsers} {
		if err := r.Refresh(what); err != nil {
			r.log.WithError(err).Error("the configuration that this process started with stays in effect")
			return
		}
	}
}

// MayActFor returns an error unless a user who calls from an address may act for another user.
func (r *ResourceManager) MayActFor(ctx context.Context, realUser, user string, from netip.Addr) error {
	return r.proxies.Load().Allow(ctx, realUser, user, from, r.groups)
}
