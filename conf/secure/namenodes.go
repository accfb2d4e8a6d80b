package secure

import (
	"context"
	"fmt"

	"heddle/conf"
	"heddle/yarn/kerberos"
)

// NameNodeAccount is the key of the name that a NameNode must have.
const NameNodeAccount = "dfs.namenode.kerberos.principal"

// Source gives tickets, as a login does.
type Source interface {
	Ticket(ctx context.Context, service, host string) (kerberos.Ticket, error)
}

// ForNameNodes is ForResourceManagers for HDFS.
func ForNameNodes(c *conf.Config, from Source) (*Tickets, error) {
	k, err := Krb5(c)
	if err != nil {
		return nil, err
	}
	t := &Tickets{from: from, krb5: k, key: NameNodeAccount, name: c.Text(NameNodeAccount), others: c.Text(NameNodeAccount + ".pattern")}
	if t.name == "" && t.others == "" {
		return nil, conf.ErrorAt(c, t.key, fmt.Errorf("%s: is not set, so the NameNode's account is unknown: set it as the NameNode has it, such as nn/_HOST@REALM", t.key))
	}
	return t, nil
}
