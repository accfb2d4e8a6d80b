package rest

import (
	"strings"
	"testing"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/rm/leader"
	"heddle/rm/leader/nodeattributes"
	store "heddle/rm/ledger/nodeattributes"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// The attributes of nodes are in REST as a recorded ResourceManager of Hadoop has them, in JSON and XML: a list also of one, an empty object without any.
func TestAttributesOfNodes(t *testing.T) {
	c := start(t, 1)
	me := c.leader()
	lead := c.rms[me].Leader()
	add := pb.AttributeMappingOperationType_ADD
	await.Until(t, "attributes can be added", func() bool {
		return lead.Attributes().Map(add, []nodeattributes.Mapping{
			{Host: "n2", Attributes: []store.Attribute{{Prefix: store.Central, Name: "zone", Value: "z2"}}}, {Host: "n3", Attributes: []store.Attribute{{Prefix: store.Central, Name: "disk"}}},
		}, false) == nil
	})
	for _, host := range []string{"n1", "n2", "n3"} {
		r := leader.NodeRegistration{Node: records.NodeID{Host: host, Port: 1}, Capability: records.NewResource(1024, 1), Version: conf.HadoopVersion}
		if host == "n2" {
			r.Attributes = &[]store.Attribute{{Prefix: store.Reported, Name: "os", Value: "linux"}}
		}
		if _, err := lead.RegisterNode(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/ws/v1/cluster/nodes", "/ws/v1/cluster/nodes/n1:1", "/ws/v1/cluster/nodes/n2:1", "/ws/v1/cluster/nodes/n3:1"} {
		a := c.ask(me, "GET", path, "")
		for host, want := range map[string]string{
			"n1": `"nodeAttributesInfo":{}`,
			"n2": `"nodeAttributesInfo":{"nodeAttributeInfo":[{"prefix":"nm.yarn.io","name":"os","type":"STRING","value":"linux"},{"prefix":"rm.yarn.io","name":"zone","type":"STRING","value":"z2"}]}`,
			"n3": `"nodeAttributesInfo":{"nodeAttributeInfo":[{"prefix":"rm.yarn.io","name":"disk","type":"STRING","value":""}]}`,
		} {
			if of := strings.TrimPrefix(path, "/ws/v1/cluster/nodes"); (of == "" || strings.HasPrefix(of, "/"+host)) && strings.Count(a.body, want) != 1 {
				t.Errorf("%s: %s\nlacks %s", path, a.body, want)
			}
		}
	}
	a := c.ask(me, "GET", "/ws/v1/cluster/nodes", "", "Accept", "application/xml")
	for _, want := range []string{
		"<nodeAttributesInfo></nodeAttributesInfo>", "<nodeAttributesInfo><nodeAttributeInfo><prefix>rm.yarn.io</prefix><name>disk</name><type>STRING</type><value></value></nodeAttributeInfo></nodeAttributesInfo>",
		"<nodeAttributeInfo><prefix>nm.yarn.io</prefix><name>os</name><type>STRING</type><value>linux</value></nodeAttributeInfo><nodeAttributeInfo><prefix>rm.yarn.io</prefix>",
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s\nlacks %s", a.body, want)
		}
	}
}
