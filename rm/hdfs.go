package rm

import (
	"errors"

	"heddle/hdfsadapter"
)

// openHDFS returns what renews tokens of NameNodes: with Kerberos as the ResourceManager's account.
func openHDFS(r *ResourceManager) (*hdfsadapter.Adapter, error) {
	return hdfsadapter.New(r.conf, hdfsadapter.Options{Log: r.log, Login: func() (hdfsadapter.Login, error) { return HDFSLogin(r) }})
}

// HDFSLogin logs a ResourceManager in to Kerberos, for its own calls to HDFS.
func HDFSLogin(r *ResourceManager) (hdfsadapter.Login, error) {
	if r.own.late == nil {
		return nil, errors.New("the ResourceManager has no account of Kerberos")
	}
	return r.own.late, nil
}
