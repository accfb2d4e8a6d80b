package rest

import (
	"cmp"

	"heddle/conf"
	"heddle/conf/ssl"
)

// LogServers returns where logs of ended applications are shown, as a page and by REST: by default on the ResourceManager that clients try first, if logs
// are aggregated. A follower sends them on to the leader.
func LogServers(c *conf.Config) (page, api string) {
	page, api = c.Text("yarn.log.server.url"), c.Text("yarn.log.server.web-service.url")
	masters, err := c.RMAddresses(conf.WebKey(c, "yarn.resourcemanager."))
	if err != nil || !c.Bool("yarn.log-aggregation-enable") {
		return page, api
	}
	master := ssl.Scheme(c) + "://" + masters[0].String()
	return cmp.Or(page, master+"/cluster/logs"), cmp.Or(api, master+"/ws/v1/heddle")
}
