package rm

import (
	"heddle/conf/secure"
	"heddle/hdfsadapter"
)

// openHDFS returns what renews tokens of NameNodes: with Kerberos as the ResourceManager's account.
func openHDFS(r *ResourceManager) (*hdfsadapter.Adapter, error) {
	return hdfsadapter.New(r.conf, hdfsadapter.Options{Log: r.log, Login: func() (hdfsadapter.Login, error) {
		a, err := secure.ResourceManager(r.conf, r.id)
		if err != nil {
			return nil, err
		}
		return a.Login()
	}})
}
