package rm

import (
	"errors"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/negotiate"
)

// ownAccount is the identity of this ResourceManager towards others.
type ownAccount struct {
	login   string          // the user who runs this process, or the short name of the account
	account *secure.Account // nil: without Kerberos
	late    *secure.Late    // its login; nil: without Kerberos
	tickets *secure.Tickets
}

func openAccount(c *conf.Config, p *prepared) (o ownAccount, err error) {
	o.login, o.account = p.login, p.account
	if o.account != nil {
		o.late = o.account.Late()
		o.tickets, err = secure.ForResourceManagers(c, o.late)
	}
	return o, err
}

// identity returns how it calls other members.
func (o *ownAccount) identity() ipc.Identity {
	if o.account == nil {
		return ipc.Identity{User: o.login}
	}
	return ipc.Identity{User: o.account.Principal, Kerberos: o.tickets}
}

// acceptor checks callers' tickets; nil without Kerberos.
func (o *ownAccount) acceptor() *kerberos.Acceptor {
	if o.account == nil {
		return nil
	}
	return o.account.Acceptor()
}

// web returns the tickets with which it calls web servers.
func (o *ownAccount) web() (negotiate.Tickets, error) {
	if o.late == nil {
		return nil, errors.New("the ResourceManager has no account of Kerberos")
	}
	return o.late, nil
}
