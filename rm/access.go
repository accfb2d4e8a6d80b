package rm

import (
	"context"
	"maps"
	"net/netip"

	"heddle/conf"
	"heddle/conf/serviceacl"
	"heddle/rm/access"
	"heddle/rm/queue"
	"heddle/rm/service"
	"heddle/yarn/acl"
)

// openAccess sets up the queues, and who may do what.
func (r *ResourceManager) openAccess(p *prepared) {
	r.login, r.accounts, r.groups = p.login, p.accounts, p.groups
	r.settings.Queues = p.queues
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
}

// setProxies reads which users may act for which others. As in Hadoop, keys for ResourceManagers alone take precedence.
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
	case service.ServiceACLs:
		p, err := serviceacl.Read(c, r.groups)
		if err != nil {
			return err
		}
		r.policy.Set(p)
	}
	return nil
}

// refreshAll rereads what administrators may have refreshed while another member led. A member calls it when it begins to lead.
func (r *ResourceManager) refreshAll() {
	for _, what := range []service.Refreshable{service.Admins, service.ProxyUsers, service.ServiceACLs} {
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
