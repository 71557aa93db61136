package sqlstore

import (
	"context"
	"database/sql"
	"strings"

	"github.com/nodegate/nodegate"
)

const accountColumns = `id, email, password, plan, operator,
	card_brand, card_last_four, card_exp_month, card_exp_year, card_processor, card_reference, created, development, unverified, suspended, plan_chosen, version`

// Account reads an account by its id.
func (s *accountTable) Account(ctx context.Context, id string) (*nodegate.Account, error) {
	return s.account(ctx, "id", id)
}

// AccountByEmail reads an account by its address, in lower case.
func (s *accountTable) AccountByEmail(ctx context.Context, email string) (*nodegate.Account, error) {
	return s.account(ctx, "email", email)
}

func (s *accountTable) account(ctx context.Context, column, value string) (*nodegate.Account, error) {
	if !storable(value) {
		return nil, notFound("account", "account")
	}
	var found *nodegate.Account
	err := s.each(ctx, "account", "account", "SELECT "+accountColumns+" FROM accounts WHERE "+column+" = $1", []any{value}, func(row scan) (err error) {
		found, err = scanAccount(row)
		return err
	})
	if err == nil && found == nil {
		return nil, notFound("account", "account")
	}
	return found, err
}

// Accounts lists in the order of ids, beginning after one.
func (s *accountTable) Accounts(ctx context.Context, after string, limit int) ([]*nodegate.Account, error) {
	return s.accounts(ctx, "id > $1 ORDER BY id LIMIT $2", cleaned(after), max(limit, 0))
}

// literally keeps a text's own signs from meaning anything in a LIKE.
var literally = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// AccountsLike lists accounts whose address holds a text, in the order of addresses.
func (s *accountTable) AccountsLike(ctx context.Context, part, after string, limit int) ([]*nodegate.Account, error) {
	return s.accounts(ctx, "email > $1 AND email LIKE $2 ESCAPE '!' ORDER BY email LIMIT $3",
		cleaned(after), "%"+literally.Replace(cleaned(part))+"%", max(limit, 0))
}

func (s *accountTable) accounts(ctx context.Context, where string, args ...any) ([]*nodegate.Account, error) {
	var list []*nodegate.Account
	err := s.each(ctx, "accounts", "account", "SELECT "+accountColumns+" FROM accounts WHERE "+where, args, func(row scan) error {
		a, err := scanAccount(row)
		list = append(list, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func scanAccount(row scan) (*nodegate.Account, error) {
	var (
		a                                     nodegate.Account
		created, suspended, chosen            stamp
		brand, lastFour, processor, reference sql.NullString
		month, year                           sql.NullInt64
	)
	err := row(&a.ID, &a.Email, &a.Password, &a.Plan, &a.Operator, &brand, &lastFour, &month, &year, &processor, &reference, &created, &a.Development, &a.Unverified, &suspended, &chosen, &a.Version)
	if err != nil {
		return nil, err
	}
	a.Created, a.Suspended, a.PlanChosen = created.Time, suspended.Time, chosen.Time
	if brand.Valid {
		a.Card = &nodegate.Card{Brand: brand.String, LastFour: lastFour.String, ExpMonth: int(month.Int64), ExpYear: int(year.Int64),
			Processor: processor.String, Reference: reference.String}
	}
	return &a, nil
}

// saveAccount inserts the first version of an account, or replaces the version
// that the caller has.
func (t *tx) saveAccount(a *nodegate.Account) error {
	card := make([]any, 6) // nulls
	if c := a.Card; c != nil {
		card = []any{c.Brand, c.LastFour, c.ExpMonth, c.ExpYear, c.Processor, c.Reference}
	}
	args := append([]any{a.ID, a.Email, a.Password, a.Plan, a.Operator}, card...)
	args = append(args, stamp{a.Created}, a.Development, a.Unverified, stamp{a.Suspended}, stamp{a.PlanChosen})
	if a.Version == 0 {
		_, err := t.exec(`INSERT INTO accounts (`+accountColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 1)`, args...)
		return err
	}
	n, err := t.exec(`UPDATE accounts SET email = $2, password = $3, plan = $4, operator = $5,
		card_brand = $6, card_last_four = $7, card_exp_month = $8, card_exp_year = $9, card_processor = $10, card_reference = $11,
		created = $12, development = $13, unverified = $14, suspended = $15, plan_chosen = $16, version = version + 1 WHERE id = $1 AND version = $17`, append(args, a.Version)...)
	if err == nil && n == 0 {
		return errStale("account")
	}
	return err
}
