package conf

// groupKeys returns the keys of core-site.xml that say how groups of users are found (conf/usergroups).
func groupKeys() []Key {
	const mapping = "hadoop.security.group.mapping."
	const ldap = mapping + "ldap."
	return []Key{
		seconds("hadoop.security.groups.shell.command.timeout", "0s", "how long the machine is asked for a user's groups at most; 0 is ten seconds").min(0),
		list(mapping+"providers", "", "names of the sources of CompositeGroupsMapping, in their order"),
		boolean(mapping+"providers.combined", "true", "all sources of CompositeGroupsMapping are asked, and not only until one knows the user"),
		text(mapping+"provider.<name>", "", "the class of a source; with a further part, such as .ldap.url, a setting for that source alone"),
		list(ldap+"url", "", "servers of LDAP, such as ldap://ldap.example.com; one that fails is followed by the next"),
		boolean(ldap+"ssl", "false", "LDAP by TLS"),
		path(ldap+"ssl.keystore", "", "keystore with this machine's certificate for LDAP, and with authorities"),
		text(ldap+"ssl.keystore.password", "", "its password; rather in a credential provider"),
		path(ldap+"ssl.keystore.password.file", "", "file with its password"),
		path(ldap+"ssl.truststore", "", "keystore with the authorities of LDAP's servers; without one the machine's count"),
		text(ldap+"ssl.truststore.password", "", "its password, in a credential provider"),
		path(ldap+"ssl.truststore.password.file", "", "file with its password"),
		text(ldap+"bind.user", "", "the account that LDAP is shown; without one it is asked anonymously"),
		text(ldap+"bind.password", "", "its password; rather in a credential provider, or in a file"),
		text(ldap+"bind.password.alias", "", "the name of its password in a credential provider"),
		path(ldap+"bind.password.file", "", "file with its password"),
		list(ldap+"bind.users", "", "aliases of several accounts: when one is refused, the next is shown"),
		text(ldap+"bind.users.<alias>.bind.user", "", "the account of an alias"),
		text(ldap+"bind.users.<alias>.bind.password", "", "its password"),
		text(ldap+"bind.users.<alias>.bind.password.alias", "", "the name of its password in a credential provider"),
		path(ldap+"bind.users.<alias>.bind.password.file", "", "file with its password"),
		text(ldap+"base", "", "where users and groups are searched for, such as dc=example,dc=com"),
		text(ldap+"userbase", "", "where users are, if elsewhere"),
		text(ldap+"groupbase", "", "where groups are, if elsewhere"),
		text(ldap+"search.filter.user", "(&(objectClass=user)(sAMAccountName={0}))", "filter of users; {0} is the short name"),
		text(ldap+"search.filter.group", "(objectClass=group)", "filter of groups"),
		text(ldap+"group.search.filter.pattern", "", "Hadoop's further way to fill the filter of groups; Heddle refuses it"),
		text(ldap+"search.attr.memberof", "", "attribute of users that names their groups, such as memberOf: it saves a search"),
		text(ldap+"search.attr.member", "member", "attribute of groups that names their members"),
		text(ldap+"search.attr.group.name", "cn", "attribute with a group's name"),
		integer(ldap+"search.group.hierarchy.levels", "0", "how many levels of groups that are members of groups count").min(0),
		text(ldap+"posix.attr.uid.name", "uidNumber", "attribute of users that groups of posixGroup name as members"),
		text(ldap+"posix.attr.gid.name", "gidNumber", "attribute with the number of a group, of users and groups of posixGroup"),
		millis(ldap+"directory.search.timeout", "10000", "how long a server may search").min(0),
		millis(ldap+"connection.timeout.ms", "60000", "how long a connection to LDAP may take; ten seconds at most").min(0),
		millis(ldap+"read.timeout.ms", "60000", "how long an answer of LDAP may take; ten seconds at most").min(0),
		integer(ldap+"num.attempts", "3", "how often LDAP is asked for a user's groups").min(1),
		integer(ldap+"num.attempts.before.failover", "3", "how often the same server is").min(1),
		text(ldap+"conversion.rule", "none", "of RuleBasedLdapGroupsMapping: names of groups are made to_upper, to_lower, or stay as they are"),
	}
}
