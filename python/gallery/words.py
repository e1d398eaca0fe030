"""Turn English words into Spanish ones, letter by letter: data to data."""

# %% [markdown]
# # Words to words
# Five letters are five coordinates with 26 categories each. The two ends are two lists of words;
# the bridge gives each English word a Spanish one (without accents) that keeps what it can of its
# letters.

# %%
import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import bridgemark as bm

ENGLISH = """
about above actor admit adult after again agent agree ahead alarm album alert alike alive allow
alone along alter among anger angle angry apart apple apply arena argue arise armor array aside
asset audio avoid award aware badly baker basic basis beach began begin being below bench birth
black blame blind block blood board brain brand bread break brick bride brief bring broad brown
build burst cabin cable carry catch cause chain chair chart chase cheap check chest chief child
china claim class clean clear clerk climb clock close cloud coach coast count court cover craft
crash cream crime cross crowd crown curve cycle daily dance death delay depth doubt dozen draft
drama dream dress drink drive earth eight elite empty enemy enjoy enter equal error event every
exact exist extra faith false fault field fifth fight final first fixed flash fleet floor fluid
focus force frame fresh front fruit giant given glass globe grace grade grand grant grass great
green gross group guard guess guest guide happy heart heavy horse hotel house human image index
inner input ivory joint judge knife known label large laser later laugh layer learn least leave
legal level light limit local loose lucky lunch major maker march match maybe mayor metal model
money month motor mount mouse mouth movie music night noise north novel nurse ocean offer often
""".split()
SPANISH = """
abeja abrir acaso acero actor aguas ahora aires ajeno algas algun altar altos
amiga amigo andar angel anima antes apoyo arbol arena armas aroma arroz asado atras autor avena
aviso ayuda banco banda barba barca barco barro bella besar bolsa bomba borde brazo breve brisa
bueno burro busca cable calle calma calor campo canal canto carta casas causa celda cenar cerca
cerdo cerro chico cielo cinco cinta circo clara clase clima cobre coche color comer copas coral
corte corto costa crema crudo cruel cuero cueva culpa curva danza datos deber debil decir dedos
deseo diana dicha dieta digno doble dolor donde dosis drama dulce durar echar elige enero entre
error espia estar exito falda falso falta fango fecha feliz feria fibra ficha fiera final
finca firma flaco flora fondo forma freno fresa fruta fuego fuera gafas gallo ganar gasto gente
golpe gordo gorra grado grano gripe grito grupo guapo haber hacer hacia hasta hielo hogar hojas
horno hotel hueso huevo humor igual islas jabon joven juego jugar junio junto labio largo leche
lejos lento letra libre libro lindo linea lista llama llave lleno lucha lugar lunes madre mango
manos manta marca marea marzo mayor mejor menor menos mente metal metro miedo mismo mitad molde
monte motor mover mucho mujer mundo museo nadar nadie negro nieve noche norte novia nubes nuevo
""".split()


def rows_of(words):
    """Words as states: letter a is 0."""
    words = sorted({word for word in words if len(word) == 5})
    return np.array([[ord(letter) - ord("a") for letter in word] for word in words], np.int32)


def word_of(row):
    return "".join(chr(ord("a") + int(letter)) for letter in row)


english, spanish = rows_of(ENGLISH), rows_of(SPANISH)
print(len(english), "English words,", len(spanish), "Spanish ones")
assert min(len(english), len(spanish)) >= 200

# %% [markdown]
# Letters have no order, so the reference is uniform: now and then it replaces a letter by any
# other. Its gamma is the chance of that in an elementary step, of which there are 128. A small one
# keeps letters; too small, and no path leads from one list to the other. Each component of DLightSB
# starts at a Spanish word (`init_peak`: with 0.99 on its letters), so that a few seconds suffice.
# The answers are to be words of the list and no others, so none of them is held out.

# %%
solver = bm.DLightSB(components=400, updates=800, init_peak=0.99, init_noise=0.0, holdout=0).fit(
    english, spanish, reference="uniform", gamma=0.005, num_categories=26
)
print(solver.coupling, "last loss", round(solver.history["loss"][-1], 3))

# %% [markdown]
# Is what comes out a word of the list, and does it keep letters? Any Spanish word shares some with
# any English one; the bridge must share more.

# %%
known = {tuple(row) for row in spanish.tolist()}
turned = solver.sample(np.repeat(english, 20, axis=0), seed=1)
words = np.mean([tuple(row) in known for row in turned.tolist()])
kept = (turned == np.repeat(english, 20, axis=0)).mean() * 5
by_chance = (english[:, None] == spanish).mean() * 5
print(f"words of the list: {words:.2f}; letters kept: {kept:.2f} of 5, by chance {by_chance:.2f}")
assert words > 0.85 and kept > 2 * by_chance

# %% [markdown]
# On the way letters change a few at a time.

# %%
STARTS = ["apple", "bread", "cloud", "dream", "earth", "fruit", "green", "house", "light", "money"]
starts = rows_of(STARTS)
paths = solver.sample_trajectory(starts, num_steps=16, seed=4)
for path in paths[:4]:
    print(" -> ".join(dict.fromkeys(word_of(row) for row in path)))

# %%
shown = range(0, 17, 4)
figure, axis = plt.subplots(figsize=(9, 4.4), layout="constrained")
for i, path in enumerate(paths):
    for j, n in enumerate(shown):
        for d in range(5):
            new = path[n, d] != path[0, d]
            colour = "#c44e52" if new else "#333333"
            axis.text(
                2.0 * j + 0.26 * d,
                -i,
                word_of(path[n, d : d + 1]),
                color=colour,
                size=15,
                family="monospace",
                weight="bold" if new else "normal",
                va="center",
            )
        if j:
            axis.annotate(
                "",
                (2.0 * j - 0.12, -i),
                (2.0 * j - 0.55, -i),
                arrowprops={"arrowstyle": "->", "color": "#aaaaaa"},
            )
for j, n in enumerate(shown):
    axis.text(
        2.0 * j, 1.0, {0: "English", 16: "Spanish"}.get(n, f"step {n}"), size=11, color="#777777"
    )
axis.text(0, -len(paths) - 0.2, "red: letters that the bridge has changed", size=9, color="#c44e52")
axis.set(xlim=(-0.3, 10.0), ylim=(-len(paths) - 0.6, 1.6))
axis.axis("off")
figure.savefig("words.png", dpi=120)
if matplotlib.get_backend().lower() != "agg":
    plt.show()
