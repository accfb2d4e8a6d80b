// Package protection knows which of Hadoop's settings ask for a protection that Heddle's daemons lack.
package protection

import (
	"errors"
	"slices"
	"strings"

	"heddle/conf"
	"heddle/conf/secure"
)

// settings are Hadoop's settings of protections that Heddle lacks. harmless are the values that ask for none, besides no value; of a
// list, each word must be one of them. TestEverySettingOfSecurityIsHonouredRefusedOrHarmless finds those that are missing here.
var settings = []struct {
	by       conf.Role // the daemons that it would protect
	key      string
	harmless []string
	why      string
}{
	{both, "hadoop.ssl.enabled", []string{"false"}, "Hadoop has no such setting any more; set it to false, and yarn.http.policy to HTTPS_ONLY"},
	{0, "yarn.timeline-service.webapp.rest-csrf.enabled", []string{"false"}, "there is no timeline server here that would ask for the header; set it to false"},
	{conf.NodeManager, "yarn.intermediate-data-encryption.enable", []string{"false"}, "what jobs spill to disks is not encrypted; set it to false and encrypt the disks"},
	{both, "ipc.server.ssl.enabled", []string{"false"}, "RPC runs without TLS; set it to false and use a private network"},
	{
		both, "yarn.authorization-provider",
		[]string{"org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer"},
		"rights come from the lists of queues, applications and yarn.admin.acl only, and from no plug-in such as Ranger; put its rules into these lists and unset it",
	},
	{
		both, "hadoop.security.impersonation.provider.class",
		[]string{"org.apache.hadoop.security.authorize.DefaultImpersonationProvider"},
		"only hadoop.proxyuser.* grants the right to act for others; put the rules there and unset it",
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
	if secure.On(c) {
		all = append(all, webWarnings(c, roles)...)
	}
	return all
}

// webWarnings tells what the web ports of a cluster with Kerberos believe.
func webWarnings(c *conf.Config, roles conf.Role) []conf.Problem {
	const filters, kind = "hadoop.http.filter.initializers", "hadoop.http.authentication.type"
	asked := slices.ContainsFunc(c.Strings(filters), func(f string) bool {
		return strings.HasSuffix(f, "AuthenticationFilterInitializer") && !strings.Contains(f, ".RMAuth")
	})
	value, _ := c.Get(kind)
	switch {
	case roles&both == 0 || asked && value != "" && !strings.EqualFold(value, "simple"):
		return nil
	case asked:
		return []conf.Problem{conf.AtKey(c, conf.Warning, kind, errors.New("hadoop.security.authentication = kerberos is for RPC alone: web ports believe the names that callers claim (user.name), as Hadoop's do; set it to kerberos, or keep them among trusted machines"))}
	}
	return []conf.Problem{conf.AtKey(c, conf.Warning, filters, errors.New("no caller is known on web ports, so nothing can be changed there, and little be seen: add org.apache.hadoop.security.AuthenticationFilterInitializer, and set "+kind+" to kerberos"))}
}
