package nm

import (
	"heddle/conf/secure"
	"heddle/hdfsadapter"
)

// hdfs returns the file systems. With Kerberos the node's own calls are those of its account; users' calls need their tokens.
func (n *NodeManager) hdfs() (*hdfsadapter.Adapter, error) {
	return hdfsadapter.New(n.o.Conf, hdfsadapter.Options{Host: n.identity.Host, Log: n.log, Login: func() (hdfsadapter.Login, error) {
		a, err := secure.NodeManager(n.o.Conf)
		if err != nil {
			return nil, err
		}
		return a.Login()
	}})
}
