"""Words that make a street: what stands after, before or at the end of its name."""

from __future__ import annotations

# The common suffixes of the United States Postal Service's list, with British and other ones.
SUFFIXES = """
Alley Aly Annex Arcade Avenue Ave Av Bayou Beach Bend Bluff Bluffs Bottom Boulevard Blvd Branch
Bridge Brook Brooks Burg Burgs Bypass Camp Canyon Cape Causeway Center Centre Centers Circle Cir
Circles Cliff Cliffs Close Club Common Commons Corner Corners Course Court Ct Courts Cove Coves
Creek Crescent Cres Crest Crossing Crossroad Crossroads Curve Dale Dam Divide Drive Dr Drives
Esplanade Estate Estates Expressway Extension Extensions Fall Falls Ferry Field Fields Flat Flats
Ford Fords Forest Forge Forges Fork Forks Fort Freeway Garden Gardens Gate Gateway Glen Glens
Green Greens Grove Groves Harbor Harbors Harbour Haven Heights Highway Hwy Hill Hills Hollow
Inlet Island Islands Isle Junction Junctions Key Keys Knoll Knolls Lake Lakes Land Landing Lane
Ln Light Lights Loaf Lock Locks Lodge Loop Mall Manor Manors Meadow Meadows Mews Mill Mills
Mission Motorway Mount Mountain Mountains Neck Orchard Oval Overpass Parade Park Parks Parkway
Pkwy Parkways Pass Passage Path Pike Pine Pines Place Pl Plain Plains Plaza Point Points Port
Ports Prairie Promenade Quay Radial Ramp Ranch Rapid Rapids Rest Ridge Ridges Rise River Road Rd
Roads Route Row Rue Run Shoal Shoals Shore Shores Skyway Spring Springs Spur Spurs Square Sq
Squares Station Strand Stravenue Stream Street St Streets Summit Terrace Ter Throughway Trace
Track Trafficway Trail Trailer Tunnel Turnpike Underpass Union Unions Valley Valleys Via Viaduct
View Views Village Villages Ville Vista Walk Walks Wall Way Ways Well Wells Wharf Wynd Yard Nagar
Marg Chowk Colony
"""

# In small letters only these: "12 main street" is an address, "3 meals on the hill" is none.
PLAIN_SUFFIXES = "street st road rd avenue ave lane ln drive boulevard blvd highway terrace"

# A word that begins a street's name, the number after it.
LEADING = """
Via Viale Piazza Piazzale Corso Vicolo Largo Strada Contrada Calle C/ Avda Avda. Av. Avenida Plaza
Paseo Carrer Ronda Camino Rua Travessa Praça Praca Estrada Alameda Rue Avenue Boulevard Bd Bld
Place Chemin Allée Allee Impasse Quai Route Cours ul. ulica al. os. pl. Aleja Plac Osiedle ulice
náměstí nám. Straße Strasse Rruga Ulica Trg Cesta str. Bulevardul bul.
"""

# The end of a street's name written in one word, the number after it.
JOINED = """
straße strasse str. str weg platz allee gasse damm ufer steig stieg chaussee graben straat laan
plein gracht kade singel dijk dreef steenweg vej gade allé gatan vägen väg gränd veien gata katu
kuja polku tänav utca braut vegur stígur gränden torget stræti straeti
"""

# The same where they may stand apart: "Kärntner Ring 4".
ENDINGS = (
    JOINED
    + """
ring markt hof vei gate tie út u. tér ulica str
"""
)

# What stands before the number, with the name of the street after it.
FRENCH = """
rue avenue av. boulevard bd bld place chemin allée allee impasse quai route cours passage square
faubourg cité sentier
"""

US_STATES = """
AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY
NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR VI FM MH PW AA AE AP
"""
