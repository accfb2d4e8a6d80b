// Package protection knows which of Hadoop's settings ask for a protection that Heddle's daemons lack.
package protection

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"heddle/conf"
)

// settings are Hadoop's settings of protections that Heddle lacks. harmless are the values that ask for none, besides no value; of a
// list, each word must be one of them. TestEverySettingOfSecurityIsHonouredRefusedOrHarmless finds those that are missing here.
var settings = []struct {
	by       conf.Role // the daemons that it would protect
	key      string
	harmless []string
	why      string
}{
	{conf.NodeManager, "mapreduce.shuffle.ssl.enabled", []string{"false"}, "map outputs are served without TLS; set it to false and keep nodes on a private network"},
	{both, "hadoop.ssl.enabled", []string{"false"}, "web ports are served without TLS; set it to false and put a proxy with TLS in front"},
	{0, "yarn.timeline-service.webapp.rest-csrf.enabled", []string{"false"}, "there is no timeline server here that would ask for the header; set it to false"},
	{conf.NodeManager, "yarn.intermediate-data-encryption.enable", []string{"false"}, "what jobs spill to disks is not encrypted; set it to false and encrypt the disks"},
	{both, "ipc.server.ssl.enabled", []string{"false"}, "RPC runs without TLS; set it to false and use a private network"},
	{
		both, "yarn.authorization-provider",
		[]string{"org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer"},
		"rights come from the lists of queues, applications and yarn.admin.acl only, and from no plug-in such as Ranger; put its rules into these lists and unset it",
	},
	{
		both, "hadoop.security.group.mapping",
		[]string{
			"org.apache.hadoop.security.JniBasedUnixGroupsMappingWithFallback", "org.apache.hadoop.security.JniBasedUnixGroupsMapping",
			"org.apache.hadoop.security.ShellBasedUnixGroupsMapping",
		},
		"groups come from the command id, so lists of groups would admit others than you think; let the machine look groups up in LDAP (sssd, nslcd), and unset it",
	},
	{
		both, "hadoop.security.impersonation.provider.class",
		[]string{"org.apache.hadoop.security.authorize.DefaultImpersonationProvider"},
		"hadoop.proxyuser.* alone says who may act for whom; put the rules there and unset it",
	},
	{
		both, "hadoop.http.filter.initializers",
		[]string{
			"org.apache.hadoop.http.lib.StaticUserWebFilter", "org.apache.hadoop.security.AuthenticationFilterInitializer", "org.apache.hadoop.security.HttpCrossOriginFilterInitializer",
			"org.apache.hadoop.security.authentication.server.ProxyUserAuthenticationFilterInitializer", "org.apache.hadoop.yarn.server.security.http.RMAuthenticationFilterInitializer",
		},
		"web requests pass no filters but Hadoop's own; set it to org.apache.hadoop.security.AuthenticationFilterInitializer, or put a proxy with the filter in front",
	},
	{
		conf.ResourceManager, "yarn.scheduler.configuration.mutation.acl-policy.class",
		[]string{
			"org.apache.hadoop.yarn.server.resourcemanager.scheduler.DefaultConfigurationMutationACLPolicy",
			"org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueueAdminConfigurationMutationACLPolicy", // admits more: here administrators of the cluster alone
		},
		"administrators of the cluster may change queues at run time, whatever it says; unset it",
	},
	{
		conf.NodeManager, "yarn.nodemanager.runtime.linux.sandbox-mode",
		[]string{"disabled"},
		"containers with Java run without a sandbox; set it to disabled, and run containers as their users (LinuxContainerExecutor)",
	},
	{
		conf.ResourceManager, "yarn.resourcemanager.application-https.policy",
		[]string{"none"},
		"the proxy asks for no certificate of ApplicationMasters, and gives them none; set it to NONE",
	},
	{
		conf.NodeManager, "yarn.nodemanager.container-log-monitor.enable",
		[]string{"false"},
		"no container is ended for the size of its logs; set it to false, and watch the disks (yarn.nodemanager.disk-health-checker.*)",
	},
}

// both are the daemons of Hadoop that Heddle replaces.
const both = conf.ResourceManager | conf.NodeManager

// Problems returns an error for each setting that asks for a protection that one of the daemons lacks: a daemon that doesn't start is
// better than one that only seems protected. If none of them would have it, it is a warning.
func Problems(c *conf.Config, roles conf.Role) (all []conf.Problem) {
	for _, p := range settings {
		value, set := c.Get(p.key) // some aren't in the registry
		value = strings.TrimSpace(value)
		asks := func(word string) bool {
			return !slices.ContainsFunc(p.harmless, func(h string) bool { return strings.EqualFold(h, word) })
		}
		if !set || value == "" || !slices.ContainsFunc(conf.ParseList(value), asks) {
			continue
		}
		found := conf.AtKey(c, conf.Error, p.key, errors.New("would have no effect: "+p.why))
		if found.Roles = p.by & roles; found.Roles == 0 {
			found.Severity = conf.Warning
		}
		all = append(all, found)
	}
	if roles&both != 0 {
		all = append(all, servicesOpen(c)...)
	}
	return all
}

// policyFile is the file with service ACLs in a configuration folder.
const policyFile = "hadoop-policy.xml"

// services are the protocols that Heddle's daemons serve, as service ACLs name them (Hadoop 3.4: RMPolicyProvider, NMPolicyProvider). Files name
// other daemons' as well.
var services = []string{
	"security.resourcetracker.protocol", "security.applicationclient.protocol", "security.applicationmaster.protocol",
	"security.resourcemanager-administration.protocol", "security.ha.service.protocol", "security.containermanagement.protocol", "security.resourcelocalizer.protocol",
}

// servicesOpen returns errors if service ACLs are on (hadoop.security.authorization) and keep anybody from a protocol that Heddle
// serves: Heddle doesn't check them. Lists that admit everybody are fine (Hadoop: ServiceAuthorizationManager).
func servicesOpen(c *conf.Config) (all []conf.Problem) {
	const on = "hadoop.security.authorization"
	if value, _ := c.Get(on); !strings.EqualFold(strings.TrimSpace(value), "true") {
		return nil
	}
	policy := c
	if c.Dir() != "" {
		with, err := c.With(policyFile)
		switch {
		case err == nil:
			policy = with
		case !errors.Is(err, fs.ErrNotExist):
			return []conf.Problem{conf.AtKey(c, conf.Error, on, err)}
		}
	}
	for _, service := range services {
		for _, list := range []struct{ key, common, open string }{
			{service + ".acl", "security.service.authorization.default.acl", "*"},
			{service + ".acl.blocked", "security.service.authorization.default.acl.blocked", ""},
			{service + ".hosts", "security.service.authorization.default.hosts", "*"},
			{service + ".hosts.blocked", "security.service.authorization.default.hosts.blocked", ""},
		} {
			key, value := list.key, ""
			if v, set := policy.Verbatim(key); set {
				value = v
			} else if v, set := policy.Verbatim(list.common); set && v != "" {
				key, value = list.common, v
			} else {
				continue
			}
			if strings.TrimSpace(value) == list.open {
				continue
			}
			p := conf.AtKey(policy, conf.Error, key, fmt.Errorf("would have no effect on %s: Heddle doesn't check service ACLs, and %s = true asks for that; set it to %q and keep the port among "+
				"trusted machines, or set %s to false", service, on, list.open, on))
			p.Value = value
			all = append(all, p)
		}
	}
	return all
}
