package rm

import (
	"context"
	"fmt"
	"net/netip"
	"os/user"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/rm/access"
	"heddle/rm/queue"
	"heddle/yarn/account"
	"heddle/yarn/acl"
)

// openAccess reads who may do what.
func (r *ResourceManager) openAccess() error {
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("find out who runs this ResourceManager: %w", err)
	}
	r.login = me.Username
	const overrides = "hadoop.user.group.static.mapping.overrides"
	if r.groups, err = account.System.GroupsExcept(r.conf.Text(overrides)); err != nil {
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
		r.settings.Increment = increment(r.conf, r.settings.Types)
	}
	r.settings.Live = queue.NewLive(r.settings.Queues)
	r.settings.QueueSource = queueSource{r.conf, r.settings.Queues.Kind}
	r.settings.Groups = r.groups
	r.access = access.FromConf(r.conf, r.settings.Live, r.login, r.groups)
	r.settings.MaySubmit = r.access.MaySubmit
	r.proxies = acl.NewProxyUsers(r.conf.WithPrefix("hadoop.proxyuser."))
	return nil
}

// MayActFor decides whether a user who calls from an address may act for another one.
func (r *ResourceManager) MayActFor(ctx context.Context, realUser, user string, from netip.Addr) error {
	return r.proxies.Allow(ctx, realUser, user, from, r.groups)
}
