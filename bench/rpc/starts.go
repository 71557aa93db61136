package main

// middleRows joins what several starts measured: of each figure the median, and of the
// comparison with another build the change of every start.
func middleRows(starts [][]row) []row {
	if len(starts) == 0 {
		return nil
	}
	var out []row
	for i, first := range starts[0] {
		joined := row{Name: first.Name, Goal: first.Goal, Figures: map[string]figures{}}
		for name := range first.Figures {
			joined.Figures[name] = middleFigures(starts, i, name)
		}
		for _, rows := range starts {
			b, n := rows[i].Figures[beforeName], rows[i].Figures["nodegate"]
			if b.CPU > 0 {
				joined.Changes = append(joined.Changes, n.CPU/b.CPU-1)
			}
		}
		out = append(out, joined)
	}
	return out
}

func middleFigures(starts [][]row, i int, name string) figures {
	of := func(figure func(figures) float64) float64 {
		var values []float64
		for _, rows := range starts {
			values = append(values, figure(rows[i].Figures[name]))
		}
		return median(values)
	}
	f := figures{
		Rate:  of(func(f figures) float64 { return f.Rate }),
		P50:   of(func(f figures) float64 { return f.P50 }),
		P99:   of(func(f figures) float64 { return f.P99 }),
		CPU:   of(func(f figures) float64 { return f.CPU }),
		Bytes: of(func(f figures) float64 { return f.Bytes }),
	}
	for _, rows := range starts {
		one := rows[i].Figures[name]
		f.Errors += one.Errors
		if f.First == "" {
			f.First = one.First
		}
	}
	return f
}
